// The frame around every page: where one can go, and what happens when one may not.

import { useState } from "preact/hooks";
import { refused } from "./api/http";
import { Agents } from "./pages/agents";
import { Compare } from "./pages/compare";
import { Run } from "./pages/run/run";
import { Runs } from "./pages/runs";
import { Start } from "./pages/start";
import { Icon, Logo } from "./components/layout/icons";
import { Empty, Failed } from "./components/layout/panel";
import { Link, place } from "./app/navigation";
import { NO_FILTER, type Route } from "./app/route";
import { me, meet, present, wrong } from "./app/session";
import { choice, next } from "./app/theme";

const RUNS: Route = { page: "runs", filter: NO_FILTER };
const START: Route = { page: "start", from: null };

export function Shell() {
  const route = place.value;
  const at = route.page;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <Link to={RUNS} class="brand">
          <Logo /> LoadPilot
        </Link>
        <nav aria-label="Pages">
          <Link to={RUNS} current={at === "runs" || at === "run"}>
            Runs
          </Link>
          <Link to={{ page: "compare", runs: [], percentile: "p99" }} current={at === "compare"}>
            Compare
          </Link>
          <Link to={{ page: "agents" }} current={at === "agents"}>
            Agents
          </Link>
          {me.value?.can_start && (
            <Link to={START} current={at === "start"}>
              Start
            </Link>
          )}
        </nav>
        <button
          type="button"
          class="ghost"
          onClick={next}
          aria-label={`Theme: ${choice.value}`}
          title={`Theme: ${choice.value}`}
        >
          <Icon name={icon()} />
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {refused.value ? <SignIn /> : <Page route={route} />}
      </main>
    </>
  );
}

function icon(): "sun" | "moon" | "system" {
  return choice.value === "light" ? "sun" : choice.value === "dark" ? "moon" : "system";
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
      return <Start from={route.from} />;
    case "agents":
      return <Agents />;
    case "lost":
      return (
        <Empty title="There is no such page">
          <p>
            <code>{route.path}</code> leads nowhere. <Link to={RUNS}>All runs</Link>
          </p>
        </Empty>
      );
  }
}

/** For gateways that ask who one is, and for a one-time token that was used before. */
function SignIn() {
  const [token, setToken] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await present(token)) await meet();
  };
  return (
    <div class="signin">
      <h1>Sign in</h1>
      {wrong.value && <Failed problem={wrong.value} />}
      <form onSubmit={(event) => void submit(event)}>
        <label>
          Token
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
        The token is the gateway's bearer token. On a laptop, start <code>loadpilot ui</code> again:
        it opens this page with a token of its own, which holds once.
      </p>
    </div>
  );
}
