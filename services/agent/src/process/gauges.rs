//! Gauges of the load generator itself: CPU, stalls, file descriptors. Read from the kernel when a
//! delta is closed, never on a firing thread.

use loadpilot_events::log::delta::Gauges;

use crate::fire::MonoTime;

/// Figures of the firing threads of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoreFigures {
    /// Arrivals in flight.
    pub in_flight: u64,
    /// Arrivals waiting for a slot.
    pub waiting: u64,
    /// Age of the oldest of both since its due time, in µs.
    pub oldest_us: u64,
    /// Longest timer delay since the last harvest, in µs.
    pub stall_us: u64,
    /// CPU time of each thread in total, in µs.
    pub cpu_us: Vec<u64>,
}

/// Figures of the process, from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessFigures {
    /// When this was read.
    pub at: MonoTime,
    /// CPU time in total, in µs.
    pub cpu_us: u64,
    /// Open file descriptors.
    pub open_fds: u64,
    /// Network counters of this machine.
    pub network: NetworkFigures,
}

/// Counters of all sockets of this network namespace since its start; 0 where the kernel has no
/// counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NetworkFigures {
    /// TCP segments sent again.
    pub retransmits: u64,
    /// Connections that found the queue of a listener full.
    pub listen_overflows: u64,
}

impl NetworkFigures {
    fn read() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let (snmp, netstat) = (read("/proc/self/net/snmp"), read("/proc/self/net/netstat"));
        Self {
            retransmits: counter(&snmp, "Tcp:", "RetransSegs"),
            listen_overflows: counter(&netstat, "TcpExt:", "ListenOverflows"),
        }
    }
}

/// One counter of a table in which a line of names is followed by a line of numbers; 0 when it is
/// absent.
fn counter(text: &str, table: &str, name: &str) -> u64 {
    let mut rows = text.lines().filter(|line| line.starts_with(table));
    let (names, numbers) = (rows.next().unwrap_or(""), rows.next().unwrap_or(""));
    let mut pairs = names.split(' ').zip(numbers.split(' '));
    let found = pairs.find(|(own, _)| *own == name);
    found
        .and_then(|(_, number)| number.parse().ok())
        .unwrap_or(0)
}

impl ProcessFigures {
    /// As of now.
    #[must_use]
    pub fn read() -> Self {
        Self {
            at: MonoTime::now(),
            cpu_us: process_cpu_us(),
            open_fds: open_fds(),
            network: NetworkFigures::read(),
        }
    }
}

/// Turns totals into usage per window.
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

    /// Records a stall in the open window; the longest one counts.
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
        let (network, before) = (process.network, self.process.network);
        let gauges = Gauges {
            in_flight: cores.in_flight,
            waiting: cores.waiting,
            oldest_us: cores.oldest_us,
            cpu_millicores: thousandths(process.cpu_us.saturating_sub(self.process.cpu_us)),
            busiest_core_permille: thousandths(busiest_us.unwrap_or(0)),
            stall_us: std::mem::take(&mut self.stall_us),
            open_fds: process.open_fds,
            retransmits: network.retransmits.saturating_sub(before.retransmits),
            listen_overflows: network
                .listen_overflows
                .saturating_sub(before.listen_overflows),
        };
        self.process = process;
        self.cores_cpu_us.clone_from(&cores.cpu_us);
        gauges
    }
}

/// CPU time of this process in total, in µs.
#[cfg(unix)]
pub(crate) fn process_cpu_us() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid memory for the answer; all zeroes is a valid `rusage`.
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
pub(crate) fn process_cpu_us() -> u64 {
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
            network: NetworkFigures {
                retransmits: 7 + cpu_us / 100_000,
                listen_overflows: 3,
            },
        }
    }

    /// Broken if a gauge shows totals instead of the window: every long run would seem overloaded.
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
        assert_eq!((first.retransmits, first.listen_overflows), (12, 0));
        let second = meter.close(&figures(1_000_000, 600_000), process(3_000_000, 1_800_000));
        assert_eq!(
            (second.cpu_millicores, second.busiest_core_permille),
            (300, 250)
        );
        assert_eq!(second.stall_us, 0);
    }

    /// Broken if the kernel's figures are absent or have a wrong unit.
    #[test]
    fn the_kernel_answers() {
        let figures = ProcessFigures::read();
        assert!(figures.open_fds > 2 && figures.cpu_us > 0);
    }

    /// Broken if a counter is read from a neighbouring column: the network would seem broken.
    #[test]
    fn counters_are_found_by_name() {
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: InSegs RetransSegs InErrs\nTcp: 10 42 3\n";
        assert_eq!(counter(snmp, "Tcp:", "RetransSegs"), 42);
        assert_eq!(counter(snmp, "Tcp:", "NoSuch"), 0);
        assert_eq!(counter("", "Tcp:", "RetransSegs"), 0);
    }
}
