//! Host, version and CPU time of an agent in its heartbeats, for users. No decision depends on
//! them, so unknown values stay empty.

use loadpilot_events::wire::heartbeat::About;

use crate::process::gauges::process_cpu_us;
use crate::wall_clock;

/// Current values.
pub(crate) fn agent_info(cores: u32) -> About {
    About {
        host: host(),
        version: loadpilot_events::VERSION.to_owned(),
        cores,
        at: wall_clock::now(),
        cpu_us: process_cpu_us(),
    }
}

/// Maximum length of a host name that is read, in bytes.
#[cfg(unix)]
const HOST_BYTES_MAX: usize = 256;

/// The name of this machine.
#[cfg(unix)]
fn host() -> String {
    let mut name = [0_u8; HOST_BYTES_MAX];
    // SAFETY: the buffer has the given length; its last byte is never written.
    let done = unsafe { libc::gethostname(name.as_mut_ptr().cast(), HOST_BYTES_MAX - 1) };
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    match done {
        0 => String::from_utf8_lossy(&name[..length]).into_owned(),
        _ => String::new(),
    }
}

/// Not known on this system.
#[cfg(not(unix))]
fn host() -> String {
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if the list of agents cannot distinguish two agents by their machines.
    #[test]
    fn an_agent_knows_where_it_is() {
        let info = agent_info(3);
        let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        assert_eq!(info.host, kernel.trim());
        assert!(info.cpu_us > 0 && info.cores == 3);
    }
}
