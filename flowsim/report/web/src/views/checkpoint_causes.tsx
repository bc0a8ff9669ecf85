/** Why a checkpoint took its time or failed, and why a failure restarted tasks: the answers of ``flowsim why``. */

import type { JobCause } from "../model/head";
import type { Store } from "../store";
import { RuleLinks } from "../ui/rule_links";

export function JobCauses({ store, causes, summary }: { store: Store; causes: JobCause[] | undefined; summary: string }) {
  if (!causes) return null;
  return (
    <details class="why">
      <summary>{summary}</summary>
      <ol>
        {causes.map((cause) => (
          <li key={cause.text}>
            {cause.text} <RuleLinks store={store} rules={cause.rules} />
            {cause.details.length > 0 && <ul>{cause.details.map((detail) => <li key={detail}>{detail}</li>)}</ul>}
          </li>
        ))}
      </ol>
    </details>
  );
}
