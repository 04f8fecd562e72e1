/** The hosts that brought the load, if several did. */
import type { Result } from '../../protocol/result/result.ts';
import { HOSTS_HEAD, hostRows } from '../text/hosts.ts';
import { type Html, html } from './html.ts';
import { dataTable } from './section.ts';

export function hostsTable(result: Result): Html | false {
  if (result.generators.length === 0) return false;
  return html`${dataTable('Generator hosts', HOSTS_HEAD, hostRows(result))}
<p class="note">Latency is that of the receivers on the host; it may be wrong by as much as its clock is. “Began” counts from the first host; idle CPU is the least of ramp, messages and broadcasts.</p>`;
}
