# Reads two files that run.sh printed, BEFORE and AFTER, and prints which commands differ and by how much.
# Ends with 1 where anything differs, with 2 where a run of AFTER failed.

function signed(percent) {
    return sprintf(percent <= -10 || percent >= 10 ? "%+.0f %%" : "%+.2g %%", percent)
}

# One figure of a simulation, before and after: nothing where it did not move. Counts it for the closing lines.
function moved(figure, before, after, unit,    percent) {
    if (before == "-" && after == "-") return ""
    if (before != after && (before == "-" || after == "-" || before == 0)) return figure " " before " -> " after unit
    percent = before == after ? 0 : 100 * (after - before) / before
    count[figure]++
    sum[figure] += percent
    if (percent * percent > most[figure] * most[figure]) most[figure] = percent
    return before == after ? "" : figure " " before " -> " after unit " (" signed(percent) ")"
}

# The simulations of a command whose hash differs: a line for each whose figures moved.
function explain(command,    i, n, a, b, text, part, any) {
    n = before_runs[command] > after_runs[command] ? before_runs[command] : after_runs[command]
    for (i = 1; i <= n; i++) {
        if (i > before_runs[command] || i > after_runs[command]) {
            text = i > before_runs[command] ? "new: " after_run[command, i] : "gone: " before_run[command, i]
            sub(/: +/, ": ", text)
        } else {
            split(before_run[command, i], b)
            split(after_run[command, i], a)
            text = moved("elapsed", b[1], a[1], " s")
            part = moved("wait", b[3], a[3], " ms")
            text = text (text != "" && part != "" ? ", " : "") part
            part = moved("requests", b[5], a[5], "")
            text = text (text != "" && part != "" ? ", " : "") part
            if (b[6] != a[6]) text = text (text != "" ? ", " : "") "scheduler " b[6] " -> " a[6]
            simulations++
            if (text != "") text = a[6] ": " text
        }
        if (text != "") {
            print "             " text
            any = 1
        }
    }
    if (n > 0 && !any) print "             elapsed, wait and requests as before: another part of the result moved"
}

function summary(figure) {
    if (!count[figure]) return figure " unknown"
    if (most[figure] == 0) return figure " as before"
    return sprintf("%s %s on the mean, at most %s", figure, signed(sum[figure] / count[figure]), signed(most[figure]))
}

# A line of figures belongs to the command above it.
/^ / && NR == FNR { before_run[command, ++before_runs[command]] = $0; next }
/^ / { after_run[command, ++after_runs[command]] = $0; next }
{ command = substr($0, 19) }
NR == FNR { hash[command] = $1; next }
{ runs++; seen[command]; order[runs] = command; after_hash[runs] = $1 }

END {
    for (i = 1; i <= runs; i++) {
        command = order[i]
        if (after_hash[i] == "FAILED") failed++
        else if (!(command in hash)) { print "new      " command; news++ }
        else if (hash[command] == after_hash[i]) equal++
        else { print "differs  " command; differ++; explain(command) }
    }
    for (command in hash) if (!(command in seen)) { print "gone     " command | "sort"; gone++ }
    close("sort")
    if (simulations > 0) {
        printf "golden: %d simulations: ", simulations
        print summary("elapsed") "; " summary("wait") "; " summary("requests")
    }
    printf "golden: %d runs: %d equal, %d differ, %d failed, %d new, %d gone\n", runs, equal, differ, failed, news, gone
    exit failed ? 2 : differ + news + gone > 0
}
