/** A run as one self-contained file to read, print and send. */
import type { Result } from '../../protocol/result/result.ts';
import { connections, errors, workers } from './connections.ts';
import { definitions } from './definitions.ts';
import { delivery, latency, roundTrips } from './delivery.ts';
import { environment } from './environment.ts';
import { fault } from './fault.ts';
import { type Html, html } from './html.ts';
import { cpu, generator } from './machine.ts';
import { capacity, memory } from './memory.ts';
import { messages } from './messages.ts';
import { overTime } from './over-time.ts';
import { page } from './page.ts';
import { headline, verdict } from './summary.ts';

/** First the charts that make the case, then what is folded. */
const CONTENTS = {
  connections: 'Connections',
  fault: 'Planned fault',
  memory: 'Memory',
  delivery: 'Delivery',
  latency: 'Latency',
  messages: 'Messages of clients',
  cpu: 'CPU',
  errors: 'Errors',
  capacity: 'Capacity',
  'round-trip': 'Round trip ÷ 2',
  workers: 'Workers',
  generator: 'Load generator',
  environment: 'Environment and settings',
  definitions: 'Definitions',
};

/** @returns a self-contained HTML document; figures that were not measured are marked as such */
export function renderHtml(result: Result): string {
  const { run } = result;
  const sections: Record<keyof typeof CONTENTS, Html | null> = {
    connections: connections(result),
    fault: fault(result),
    memory: result.memory.overTime ? overTime(result) : memory(result),
    cpu: cpu(result),
    messages: messages(result),
    latency: latency(result),
    'round-trip': roundTrips(result),
    delivery: delivery(result),
    workers: workers(result),
    errors: errors(result),
    capacity: capacity(result),
    generator: generator(result),
    environment: environment(result),
    definitions: definitions(),
  };
  const shown = (Object.keys(CONTENTS) as (keyof typeof CONTENTS)[]).filter((id) => sections[id] !== null);
  return page({
    title: `${run.scenario} · socketio-capacity`,
    subtitle: `${run.target} · ${run.startedAt.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')} · engine ${run.engine}`,
    body: html`${verdict(result)}
${headline(result)}
<nav aria-label="Sections"><ul>${shown.map((id) => html`<li><a href="#${id}">${CONTENTS[id]}</a></li>`)}</ul></nav>
${shown.map((id) => sections[id])}`,
  });
}
