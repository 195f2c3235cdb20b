# Prints the figures of one result, a line for each simulation in it: elapsed time, mean wait, requests, scheduler.
#
# The JSON has one key a line, and its indentation says which object a key belongs to. `simulate`, `compare` and
# `dads replay` list their simulations in `runs`. `disksim run` is one simulation: its wait is the mean response time.

function value() {
    sub(/^[^:]*: /, "")
    sub(/,$/, "")
    gsub(/"/, "")
    return $0
}
function figure(x) {
    return x ~ /^-?[0-9]/ ? sprintf("%.6g", x) : "-"
}
function put(name) {
    printf "    %s s  %s ms  %s  %s\n", figure(elapsed), figure(wait), (requests == "" ? "-" : requests), name
}

/^  "runs": \[$/ { in_runs = 1 }
in_runs && /^    \{/ { name = elapsed = wait = requests = "" }
in_runs && /^      "scheduler": / { name = value() }
in_runs && /^      "elapsed_s": / { elapsed = value() }
in_runs && /^      "wait_ms_mean": / { wait = value() }
in_runs && /^      "requests": / { requests = value() }
in_runs && /^    \}/ { put(name) }
in_runs && /^  \]/ { exit }

/^  "requests": / { requests = value() }
/^  "overall": / { in_overall = 1 }
in_overall && /^    "response_ms": / { in_response = 1 }
in_response && /^      "mean": / { wait = value(); in_overall = in_response = 0 }
/^  "simulated_ms": / { elapsed = value() / 1000; put("disksim"); exit }
