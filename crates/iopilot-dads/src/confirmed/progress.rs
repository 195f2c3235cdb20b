//! [`ClassProgress`]: what the processes of a load get done, by class of process.

/// Classes of processes: those that read or write, sequentially or not.
pub(crate) const CLASSES: usize = 4;

/// What the classes of processes got done in some time.
///
/// Requests a second of all processes together would flatter a scheduler that serves the cheap requests and starves the
/// others, so progress is taken by class ([`Self::value`]). Modelled service times would credit a scheduler with the
/// seeks that it causes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ClassProgress {
    /// How long, in seconds.
    pub(crate) seconds: f64,
    /// The processes at work in each class, times the seconds.
    processes: [f64; CLASSES],
    /// The requests completed in each class. Rates of a prediction may give fractions.
    requests: [f64; CLASSES],
}

impl ClassProgress {
    /// `counts` of requests that processes, each with its class, completed in `seconds`.
    pub(crate) fn of_counts(counts: impl Iterator<Item = (usize, f64)>, seconds: f64) -> Self {
        let mut progress = Self { seconds, ..Self::default() };
        for (class, count) in counts {
            progress.processes[class] += seconds;
            progress.requests[class] += count;
        }
        progress
    }

    /// `rates` of processes, each with its class and requests a second, over `seconds`.
    pub(crate) fn of_rates(rates: impl Iterator<Item = (usize, f64)>, seconds: f64) -> Self {
        Self::of_counts(rates.map(|(class, rate)| (class, rate * seconds)), seconds)
    }

    /// Adds what was done in a later window.
    pub(crate) fn add(&mut self, later: &Self) {
        self.seconds += later.seconds;
        for class in 0..CLASSES {
            self.processes[class] += later.processes[class];
            self.requests[class] += later.requests[class];
        }
    }

    /// Takes `share` of it, so that older windows count less.
    pub(crate) fn fade(&mut self, share: f64) {
        self.seconds *= share;
        self.processes.iter_mut().chain(&mut self.requests).for_each(|value| *value *= share);
    }

    /// Requests of all classes.
    pub(crate) fn requests(&self) -> f64 {
        self.requests.iter().sum()
    }

    /// The progress as one number: the sum over classes of the class' share of the processes times the logarithm of its
    /// requests a second. A class without a request counts half a one. With one class it is the logarithm of the
    /// requests a second.
    pub(crate) fn value(&self) -> f64 {
        let all: f64 = self.processes.iter().sum();
        if all <= 0.0 || self.seconds <= 0.0 {
            return (0.5 / self.seconds.max(1e-3)).ln();
        }
        let of_class = |class: usize| (self.requests[class].max(0.5) / self.seconds).ln();
        (0..CLASSES)
            .filter(|&class| self.processes[class] > 0.0)
            .map(|class| self.processes[class] / all * of_class(class))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheap_requests_do_not_flatter() {
        // Four streams and a random reader: one scheduler serves the streams alone, the other both.
        let progress = |stream: f64, reader: f64| {
            ClassProgress::of_rates([(1, stream); 4].into_iter().chain([(0, reader)]), 1.0).value()
        };
        assert!(progress(50.0, 25.0) > progress(60.0, 2.0), "240 requests a second are worse than 225");
        let alone = ClassProgress::of_rates([(0, 213.0)].into_iter(), 0.5);
        assert!((alone.value() - 213f64.ln()).abs() < 1e-12);
        assert!((alone.requests() - 106.5).abs() < 1e-12);
        let starved = ClassProgress::of_rates([(0, 0.0)].into_iter(), 0.5).value();
        assert!(starved.abs() < 1e-12, "half a request in half a second: {starved}");
    }

    #[test]
    fn windows_add_up_and_fade() {
        let window = |rate: f64| ClassProgress::of_rates([(0, rate)].into_iter(), 0.5);
        let mut sum = window(100.0);
        sum.add(&window(300.0));
        assert!((sum.value() - 200f64.ln()).abs() < 1e-12);
        sum.fade(0.5);
        assert!((sum.value() - 200f64.ln()).abs() < 1e-12 && (sum.seconds - 0.5).abs() < 1e-12);
    }
}
