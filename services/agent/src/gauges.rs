//! How the generator itself fares: CPU, stalls, file descriptors. Read from the kernel when a
//! delta is closed; it must never be read from a firing thread.

use loadpilot_events::delta::Gauges;

use crate::fire::MonoTime;

/// What the firing threads say about themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoreFigures {
    /// Arrivals in flight.
    pub in_flight: u64,
    /// Arrivals waiting for a slot.
    pub waiting: u64,
    /// Age, from due, of the oldest of both, in µs.
    pub oldest_us: u64,
    /// The longest lateness for a timer since the last time, in µs.
    pub stall_us: u64,
    /// CPU time of each thread in total, in µs.
    pub cpu_us: Vec<u64>,
}

/// What the kernel says about the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessFigures {
    /// When this was read.
    pub at: MonoTime,
    /// CPU time in total, in µs.
    pub cpu_us: u64,
    /// Open file descriptors.
    pub open_fds: u64,
}

impl ProcessFigures {
    /// As of now.
    #[must_use]
    pub fn read() -> Self {
        Self {
            at: MonoTime::now(),
            cpu_us: process_cpu_us(),
            open_fds: open_fds(),
        }
    }
}

/// Turns totals into use per window.
#[derive(Debug)]
pub struct Meter {
    process: ProcessFigures,
    cores_cpu_us: Vec<u64>,
    stall_us: u64,
}

impl Meter {
    /// The first window begins at `process`.
    #[must_use]
    pub fn new(process: ProcessFigures) -> Self {
        Self {
            process,
            cores_cpu_us: Vec::new(),
            stall_us: 0,
        }
    }

    /// A stall in the window that is open; the longest one counts.
    pub fn stalled(&mut self, stall_us: u64) {
        self.stall_us = self.stall_us.max(stall_us);
    }

    /// Ends the window and begins the next.
    pub fn close(&mut self, cores: &CoreFigures, process: ProcessFigures) -> Gauges {
        let window_us = process.at.since_us(self.process.at).max(1);
        let thousandths = |used_us: u64| used_us * 1_000 / window_us;
        let before = self
            .cores_cpu_us
            .iter()
            .copied()
            .chain(std::iter::repeat(0));
        let busiest_us = cores.cpu_us.iter().zip(before);
        let busiest_us = busiest_us
            .map(|(now, before)| now.saturating_sub(before))
            .max();
        let gauges = Gauges {
            in_flight: cores.in_flight,
            waiting: cores.waiting,
            oldest_us: cores.oldest_us,
            cpu_millicores: thousandths(process.cpu_us.saturating_sub(self.process.cpu_us)),
            busiest_core_permille: thousandths(busiest_us.unwrap_or(0)),
            stall_us: std::mem::take(&mut self.stall_us),
            open_fds: process.open_fds,
        };
        self.process = process;
        self.cores_cpu_us.clone_from(&cores.cpu_us);
        gauges
    }
}

#[cfg(unix)]
fn process_cpu_us() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid place for the answer; all zeroes is a valid `rusage`.
    let usage = unsafe {
        let done = libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        assert_eq!(done, 0, "a process may ask for its own usage");
        usage.assume_init()
    };
    let us = |time: libc::timeval| {
        let us = i128::from(time.tv_sec) * 1_000_000 + i128::from(time.tv_usec);
        u64::try_from(us).unwrap_or(0)
    };
    us(usage.ru_utime) + us(usage.ru_stime)
}

/// Not known on this system.
#[cfg(not(unix))]
fn process_cpu_us() -> u64 {
    0
}

/// 0 where the kernel has no such list.
fn open_fds() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |list| list.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(at_us: i64, cpu_us: u64) -> ProcessFigures {
        ProcessFigures {
            at: MonoTime::from_ns(at_us * 1_000),
            cpu_us,
            open_fds: 5,
        }
    }

    /// A gauge that showed totals instead of the window would call every long run overloaded.
    #[test]
    fn use_is_per_window_and_the_busiest_thread_counts() {
        let mut meter = Meter::new(process(0, 0));
        let figures = |a, b| CoreFigures {
            cpu_us: vec![a, b],
            ..CoreFigures::default()
        };
        meter.stalled(70);
        meter.stalled(30);
        let first = meter.close(&figures(900_000, 100_000), process(1_000_000, 1_200_000));
        assert_eq!(
            (first.cpu_millicores, first.busiest_core_permille),
            (1_200, 900)
        );
        assert_eq!((first.stall_us, first.open_fds), (70, 5));
        let second = meter.close(&figures(1_000_000, 600_000), process(3_000_000, 1_800_000));
        assert_eq!(
            (second.cpu_millicores, second.busiest_core_permille),
            (300, 250)
        );
        assert_eq!(second.stall_us, 0);
    }

    /// The kernel's figures are there: a wrong unit would show as nonsense here.
    #[test]
    fn the_kernel_answers() {
        let figures = ProcessFigures::read();
        assert!(figures.open_fds > 2 && figures.cpu_us > 0);
    }
}
