/** The top of the report: whether to trust the run, and the headline figures. */

import type { Result } from '../../protocol/result/result.ts';
import { connectionCost } from '../answer/cost.ts';
import { outcomeOf } from '../answer/outcome.ts';
import { answerParts, outcomeTitle } from '../answer/sentence.ts';
import { layerTitle, mainWorkerLayer } from '../figures/layers.ts';
import { DOUBT_TEXTS } from '../statistics/straightness.ts';
import { whyNoDelivery } from '../text/absent.ts';
import { faultHeadline, seconds } from '../text/fault-text.ts';
import { counted, decimals, integer, kilobytes, milliseconds, percentOf, sizeOf } from '../text/format.ts';
import { heldOf, missesSome } from '../text/held.ts';
import { oneWayTail } from '../text/latency-notes.ts';
import { comesAndGoes, overTimeHeadline, workersDrift } from '../text/over-time-text.ts';
import { serverName } from '../text/server.ts';
import { clientsOf } from '../text/transports.ts';
import { term } from './definitions.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { NOT_MEASURED } from './section.ts';

const MEANING = {
  VALID: 'no check raised a doubt about these figures.',
  SUSPECT: 'there are reasons to doubt these figures.',
  INVALID: 'no figures are shown, because they cannot be trusted.',
};

/** What the run showed, and, smaller, whether it can be believed. */
export function verdict(result: Result): Html {
  const {
    verdict: { status, reasons },
    run,
  } = result;
  const outcome = outcomeOf(result);
  const [title = '', ...why] = outcomeTitle(result).split(': ');
  const parts = answerParts(result);
  return html`<div class="verdict ${outcome.status}">
<h2 id="verdict">${title}</h2>
${why.length > 0 && html`<p class="missed">${sentence(why.join(': '))}</p>`}
${parts.length > 0 && html`<p>${sentence(parts.join(' · '))}</p>`}
<p class="measurement"><strong class="${status}">${status}</strong> measurement: ${MEANING[status]}${!run.complete && ' The run ended early; the figures cover the time until then.'}</p>
${
  reasons.length > 0 &&
  html`<ul class="reasons">${reasons.map(
    ({ code, message, fix }) =>
      html`<li><code>${code}</code> ${message}${fix && html`<span class="fix">Fix: ${fix}</span>`}</li>
`,
  )}</ul>`
}
</div>
`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

interface Tile {
  name: Html;
  /** Null if there is none that can be stated. */
  value: string | null;
  unit: string;
  more: HtmlValue;
  /** In place of the value. */
  without?: string;
}

/** Null for a run that cannot be trusted. */
export function headline(result: Result): Html | null {
  if (result.verdict.status === 'INVALID') return null;
  const tiles = result.memory.overTime
    ? [held(result), leftBehind(result)]
    : [held(result), fault(result) ?? perConnection(result), completion(result), coverage(result)];
  return html`<dl class="headline">${tiles.map(
    ({ name, value, unit, more, without = NOT_MEASURED }) => html`<div><dt>${name}</dt>
<dd class="value">${value ?? html`<span class="unit">${without}</span>`} ${value !== null && html`<span class="unit">${unit}</span>`}</dd>
<dd class="more">${more}</dd></div>
`,
  )}</dl>`;
}

function held(result: Result): Tile {
  const { connections } = result;
  const clients = clientsOf(result);
  const { target, achievedRatePerSec: rate } = connections;
  const count = heldOf(connections);
  const passing = comesAndGoes(result);
  const of = passing !== null ? passing : count === target ? 'the full target' : `of a target of ${integer(target)}`;
  const at = rate === null ? '' : `, made at ${decimals(rate, 0)} per second`;
  const server = serverName(result);
  const by = `${server === null ? '' : `, by ${server}`}${clients === null ? '' : `; ${clients}`}`;
  const name = connections.held === null ? term('connections', 'Connections at the peak') : term('connections');
  return { name, value: integer(count), unit: '', more: of + at + by };
}

function fault({ fault: found }: Result): Tile | null {
  if (!found) return null;
  const { dropped, backMs } = found;
  const name = term('fault', dropped === 0 ? 'Dropped by the fault' : 'All back after');
  const more = faultHeadline(found);
  if (dropped === 0) return { name, value: '0', unit: 'connections', more };
  return {
    name,
    value: backMs.all === null ? 'never' : seconds(backMs.all),
    unit: backMs.all === null ? '' : 's',
    more,
  };
}

function leftBehind(result: Result): Tile {
  const { overTime } = result.memory;
  const name = term('overTime');
  const workers = overTime && workersDrift(overTime);
  const more = overTimeHeadline(result);
  if (!workers || workers.drift.leaks === null) return { name, value: null, unit: '', more };
  const { leaks, bytesPerConnection } = workers.drift;
  if (!leaks) return { name, value: overTime.collected ? 'no leak' : 'no growth', unit: '', more };
  const [value = '', unit = ''] = sizeOf(bytesPerConnection).split(' ');
  return { name, value, unit: `${unit} per connection`, more };
}

function perConnection(result: Result): Tile {
  const { memory } = result;
  const layer = mainWorkerLayer(memory.perConnectionBytes);
  const line = memory.perConnectionBytes[layer];
  const name = term('perConnection');
  const cost = connectionCost(result);
  if (cost && cost.inService !== null && cost.parts.length > 1) {
    const split = cost.parts.map(({ title, inService }) => `${title} ${kilobytes(inService as number)}`).join(', ');
    const rest = cost.atRest === null ? '' : `; ${kilobytes(cost.atRest)} KB at rest`;
    return { name, value: kilobytes(cost.inService), unit: 'KB', more: `in service: ${split}${rest}` };
  }
  if (result.absent.memory !== undefined) return { name, value: null, unit: '', more: result.absent.memory };
  if (!line) {
    const why = memory.absent[layer] ?? 'a slope needs memory readings at two or more numbers of connections';
    return { name, value: null, unit: '', more: why };
  }
  const title = layerTitle(result, layer);
  if (line.doubt !== undefined) {
    return { name, value: null, unit: '', more: `${title}: ${DOUBT_TEXTS[line.doubt]}`, without: 'no figure' };
  }
  const needed = memory.inService?.perConnectionBytes[layer];
  if (!memory.collected) {
    const { slope } = memory.inService?.perConnectionBytes[layer] ?? line;
    return {
      name,
      value: kilobytes(slope),
      unit: 'KB',
      more: `${title}, in service; no garbage collection was forced`,
    };
  }
  const inService = needed && needed.doubt === undefined ? ` at rest; ${sizeOf(needed.slope)} in service` : '';
  return { name, value: kilobytes(line.slope), unit: 'KB', more: `${title}; ${interval95(line)}${inService}` };
}

export function interval95({ low95, high95 }: { low95: number | null; high95: number | null }): string {
  if (low95 === null || high95 === null) return 'no interval with only two plateaus';
  return `95 % interval ${sizeOf(low95)} to ${sizeOf(high95)}`;
}

function completion({ latency, absent }: Result): Tile {
  const { completionMs } = latency;
  const name = term('completion');
  if (completionMs === null)
    return {
      name,
      value: null,
      unit: '',
      more: absent.latency ?? 'no broadcast arrived, or this engine keeps no ledger',
    };
  const tail = oneWayTail(latency);
  const everyone = tail === null ? '' : `; ${tail} of all receipts`;
  return {
    name,
    value: milliseconds(completionMs.p50),
    unit: 'ms',
    more: `median broadcast, slowest ${milliseconds(completionMs.max)} ms${everyone}`,
  };
}

function coverage(result: Result): Tile {
  const { delivery } = result;
  const name = term('coverage');
  if (delivery === null) return { name, value: null, unit: '', more: whyNoDelivery(result) };
  if (delivery.coverage === null) return { name, value: null, unit: '', more: 'no receipt was expected' };
  const { received, expected, broadcasts } = delivery;
  const ofTarget = missesSome(delivery)
    ? `; ${percentOf(delivery.coverageOfTarget ?? 0, 1)} with those that were gone`
    : '';
  return {
    name,
    value: percentOf(received, expected).replace(' %', ''),
    unit: '%',
    more: `${integer(received)} of ${integer(expected)} receipts, ${counted(broadcasts, 'broadcast')}${ofTarget}`,
  };
}
