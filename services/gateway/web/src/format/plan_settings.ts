// Settings of a plan as text: its connections, and the think time of a closed loop.

import type { Connections, Proxy, RunFacts } from "../api/_generated/report";
import { count, duration, percent } from "./numbers";

/** Settings that differ from the defaults. All are named: an unverified certificate must show. */
export function connectionTexts(settings: Connections | undefined): string[] {
  if (!settings) return [];
  const { http, max, open_first: first, streams_max: streams, reuse, tls } = settings;
  const texts = [
    settings.other_targets?.length && `further targets ${settings.other_targets.join(", ")}`,
    http === "2" && "HTTP/2",
    http === "auto" && "HTTP as the target chooses",
    max != null && `at most ${count(max)} connections a load generator`,
    first != null && `${count(first)} connections a load generator opened before the start`,
    streams != null && `at most ${count(streams)} requests at a time on a connection`,
    reuse === "never" && "a new connection for every request",
    typeof reuse === "object" &&
      `connections reused by ${percent(reuse.share_ppm / 1e4)} of the requests`,
    settings.requests_max != null &&
      `connections closed after ${count(settings.requests_max)} requests`,
    settings.age_us_max != null && `connections closed after ${duration(settings.age_us_max)}`,
    settings.connect_to != null && `connected to ${settings.connect_to}`,
    settings.sources?.length && `from ${settings.sources.join(", ")} in turn`,
    settings.ip != null && `IPv${settings.ip} only`,
    settings.resolve_us != null && `name resolved every ${duration(settings.resolve_us)}`,
    settings.proxy != null && proxyText(settings.proxy),
    settings.redirects_max != null &&
      `at most ${count(settings.redirects_max)} redirects followed in a request`,
    settings.redirect_origins?.length && `also to ${settings.redirect_origins.join(", ")}`,
    tls?.insecure && "the target's certificate is NOT verified",
    tls?.roots_pem != null && "certificates trusted as given",
    tls?.identity != null && "with a client certificate",
  ];
  return texts.filter((text): text is string => typeof text === "string");
}

function proxyText({ url, credentials_secret: login }: Proxy): string {
  return `through the proxy ${url}${login == null ? "" : ", with credentials"}`;
}

/** The load of a closed loop, `closed loop, 64 users, thinking 1 s to 3 s`. */
export function closedLoopText(run: Pick<RunFacts, "users" | "user_stages" | "rest">): string {
  const { users, user_stages: stages, rest } = run;
  const most = `${count(users ?? 0)} ${users === 1 ? "user" : "users"}`;
  const staged = `up to ${most} in ${stages?.length} ${stages?.length === 1 ? "stage" : "stages"}`;
  const text = `closed loop, ${stages ? staged : most}`;
  if (!rest) return text;
  if ("pacing" in rest) return `${text}, each begins every ${duration(rest.pacing.every_us)}`;
  if ("exponential" in rest) {
    return `${text}, thinking ${duration(rest.exponential.median_us)} in the median (exponential)`;
  }
  if ("lognormal" in rest) {
    const { median_us: median, p99_us: p99 } = rest.lognormal;
    const times = `${duration(median)} in the median, ${duration(p99)} at p99`;
    return `${text}, thinking ${times} (lognormal)`;
  }
  const { from_us: from, to_us: to } = rest.wait;
  if (from === to) return `${text}, thinking ${duration(to)}`;
  return `${text}, thinking ${duration(from)} to ${duration(to)}`;
}
