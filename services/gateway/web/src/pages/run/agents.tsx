// The load generators of a run: shares of the load, and their health over time.

import { useMemo } from "preact/hooks";
import type { AgentsOverTime } from "../../api/answers";
import { queryString } from "../../api/http";
import { useResource } from "../../api/resource";
import { changeView } from "../../app/navigation";
import { Failed, Panel } from "../../components/layout/panel";
import { GeneratorTiles, Holders } from "../../components/report/agents";
import { GaugePanels } from "../../components/report/gauges";
import { agentsBetween } from "../../data/time_range";
import { rangeWithin } from "../../data/running_series";
import type { TabProps } from "./tab";

export function AgentsTab({ run, report, series, view, every, onZoom }: TabProps) {
  const path = `/runs/${encodeURIComponent(run)}/agents${queryString({ as_of_us: view.asOf })}`;
  const { data, problem, reload } = useResource<AgentsOverTime>(path, { every });
  const [first, end] = rangeWithin(data?.from_us ?? [], series.data);
  const charted = useMemo(() => data && agentsBetween(data, first, end), [data, first, end]);
  return (
    <div class="grid">
      <GeneratorTiles generator={report.generator} />
      <Panel title="Processes" note="of all load generators that held shards" wide>
        <Holders
          {...{ report, data }}
          chosen={view.agent}
          onChoose={(agent) => changeView({ agent })}
        />
      </Panel>
      {problem && !series.problem && <Failed problem={problem} again={reload} />}
      {charted && <GaugePanels data={charted} onZoom={onZoom} />}
    </div>
  );
}
