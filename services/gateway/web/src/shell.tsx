// The frame around every page: navigation, theme and sign-in.

import { useState } from "preact/hooks";
import { signInRequired, unreachable } from "./api/http";
import { Agents } from "./pages/agents";
import { Compare } from "./pages/compare/compare";
import { Run } from "./pages/run/run";
import { Runs } from "./pages/runs/runs";
import { Start } from "./pages/start/start";
import { Icon, Logo } from "./components/layout/icons";
import { Empty, Failed } from "./components/layout/panel";
import { Link, currentRoute } from "./app/navigation";
import { NO_FILTER, type Route } from "./app/route";
import { me, loadMe, signIn, signInProblem } from "./app/session";
import { nextTheme, useTheme } from "./app/theme";

const RUNS: Route = { page: "runs", filter: NO_FILTER };
const START: Route = { page: "start", from: null };

export function Shell() {
  const route = currentRoute.value;
  const { page } = route;
  const theme = useTheme();
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="bar">
        <Link to={RUNS} class="brand">
          <Logo /> LoadPilot
        </Link>
        <nav aria-label="Pages">
          <Link to={RUNS} current={page === "runs" || page === "run"}>
            Runs
          </Link>
          <Link to={{ page: "compare", runs: [], percentile: "p99" }} current={page === "compare"}>
            Compare
          </Link>
          <Link to={{ page: "agents" }} current={page === "agents"}>
            Load generators
          </Link>
          {me.value?.can_start && (
            <Link to={START} current={page === "start"}>
              Start
            </Link>
          )}
        </nav>
        <Caller />
        <button
          type="button"
          class="ghost"
          onClick={nextTheme}
          aria-label={`Theme: ${theme.choice}`}
          title={`Theme: ${theme.choice}`}
        >
          <Icon name={theme.icon} />
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {unreachable.value && (
          <p class="notice bad" role="alert">
            {unreachable.value.title}. {unreachable.value.detail}
          </p>
        )}
        {signInRequired.value ? <SignIn /> : <Page route={route} />}
      </main>
    </>
  );
}

/** Name, tenant and role of a caller with a key or a rule; others are the only user. */
function Caller() {
  const caller = me.value;
  if (!caller?.tenant || (!caller.key && caller.role === "admin")) return null;
  return (
    <span class="quiet" title="Caller, tenant and role">
      {caller.user} · {caller.tenant} · {caller.role}
    </span>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "runs":
      return <Runs filter={route.filter} />;
    case "run":
      return <Run key={route.run} run={route.run} view={route.view} />;
    case "compare":
      return <Compare runs={route.runs} percentile={route.percentile} />;
    case "start":
      return <Start from={route.from} file={route.file} />;
    case "agents":
      return <Agents />;
    case "not_found":
      return (
        <Empty title="Page not found">
          <p>
            There is no page at <code>{route.path}</code>. <Link to={RUNS}>All runs</Link>
          </p>
        </Empty>
      );
  }
}

/** Shown when a gateway requires a token, or when a one-time token was already used. */
function SignIn() {
  const [token, setToken] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await signIn(token)) await loadMe();
  };
  return (
    <div class="signin">
      <h1>Sign in</h1>
      {signInProblem.value && <Failed problem={signInProblem.value} />}
      <form onSubmit={(event) => void submit(event)}>
        <label>
          Token or key
          <input
            type="password"
            value={token}
            autocomplete="current-password"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={token === ""}>
          Sign in
        </button>
      </form>
      <p class="quiet">
        Enter the bearer token or your key of the gateway. Run <code>loadpilot ui</code> again on
        your own machine: it opens this page with a new one-time token.
      </p>
    </div>
  );
}
