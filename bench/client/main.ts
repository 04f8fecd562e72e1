/** `npm run bench:client`: what a connection and a message cost each load generator, beside the least possible. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { table } from '../../report/text/table.ts';
import { type Command, runCommand } from '../command.ts';
import { describeMachine, firstLine } from '../machine.ts';
import { publishSection } from '../page.ts';
import { Worker } from '../worker.ts';
import { GENERATORS, type Generator } from './generators.ts';
import { measure } from './measure.ts';
import type { Load } from './programs/program.ts';
import { TlsProxy } from './proxy.ts';
import { type ClientReport, chart, markdown, type Round, rowsOf, sectionName, tableHead, tableRows } from './report.ts';

const PLAN = { count: 20, bytes: 1000 };
const PACKAGES = ['socket.io', 'ws', 'socket.io-client', 'artillery', 'artillery-engine-socketio-v3'];

const names = GENERATORS.map(({ name }) => name);
const optionsSchema = z
  .object({
    connections: z.coerce.number().int().min(1000).default(5000),
    rate: z.coerce.number().int().min(100).default(500),
    repeat: z.coerce.number().int().positive().default(1),
    only: z
      .string()
      .transform((list) => list.split(','))
      .pipe(z.array(z.enum(names)))
      .optional(),
    tls: z.boolean().default(false),
    publish: z.boolean().default(false),
  })
  .refine(({ connections, rate }) => connections % rate === 0, {
    path: ['connections'],
    error: 'expected a multiple of the rate: Artillery counts ramps in whole seconds',
  });

await runCommand({
  usage: `usage: npm run bench:client -- [options]
  --connections <n>  multiple of the rate, at least 1,000 (default 5,000)
  --rate <n>         connections per second, at least 100 (default 500)
  --repeat <n>       rounds; the table has medians (default 1)
  --only <names>     of ${names.join(', ')}
  --tls              over TLS, which the stack's nginx terminates in front of the worker
  --publish          write the section of docs/benchmarks.md, too`,
  schema: optionsSchema,
  run,
});

async function run({ options, command, signal }: Command<z.output<typeof optionsSchema>>): Promise<void> {
  const { connections, rate, repeat, only, tls, publish } = options;
  const startedAt = new Date().toISOString();
  const loadBefore = loadavg()[0] as number;
  const absent: Record<string, string> = {};
  const generators = GENERATORS.filter(({ name, label, missing }) => {
    if (only && !only.includes(name)) return false;
    const why = missing?.(tls);
    if (why) absent[label] = why;
    return !why;
  });
  const rounds: Round[] = [];
  const scratch = mkdtempSync(join(tmpdir(), 'bench-client-'));
  try {
    const worker = await Worker.start();
    let proxy: TlsProxy | undefined;
    try {
      proxy = tls ? await TlsProxy.start(worker.url, connections, join(scratch, 'nginx')) : undefined;
      const { url, caFile } = proxy ?? { url: worker.url };
      for (let index = 0; index < repeat; index++) {
        console.log(`Round ${index + 1} of ${repeat}`);
        const load = { url, caFile, connections, ratePerSec: rate };
        rounds.push(await runRound(generators, worker, load, join(scratch, `${index}`), absent, signal));
      }
    } finally {
      await proxy?.close();
      await worker.close();
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  const machine = describeMachine(PACKAGES);
  machine.versions.cc = firstLine('cc', ['-dumpfullversion']) ?? 'unknown';
  const k6 = firstLine('k6', ['version']);
  if (k6) machine.versions.k6 = k6.replace(/^k6 v?/, '').split(' ')[0] ?? k6;
  const report: ClientReport = {
    startedAt,
    command,
    tls,
    connections,
    ratePerSec: rate,
    broadcasts: PLAN.count,
    bytes: PLAN.bytes,
    machine,
    loadBefore,
    rounds,
    absent,
    rows: rowsOf(rounds, generators, tls),
  };
  console.log(`\n${table(tableHead(tls), tableRows(report.rows, tls), '').join('\n')}\n`);
  for (const [label, why] of Object.entries(absent)) console.log(`not measured: ${label}, ${why}`);
  const folder = join('results', `bench-client-${startedAt.replace(/[:.]/g, '-').slice(0, 19)}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'chart.svg'), chart(report.rows));
  writeFileSync(join(folder, 'report.md'), markdown(report, './chart.svg'));
  writeFileSync(join(folder, 'result.json'), `${JSON.stringify(report, null, 2)}\n`);
  console.log(`Written to ${folder}`);
  if (!publish) return;
  const name = sectionName(report);
  writeFileSync(join('docs', 'benchmarks', `${name}.svg`), chart(report.rows));
  publishSection(name, markdown(report, `./benchmarks/${name}.svg`));
}

async function runRound(
  generators: Generator[],
  worker: Worker,
  load: Load,
  scratch: string,
  absent: Record<string, string>,
  signal: AbortSignal,
): Promise<Round> {
  const round: Round = {};
  for (const generator of generators) {
    const folder = join(scratch, generator.name);
    mkdirSync(folder, { recursive: true });
    process.stdout.write(`  ${generator.label} … `);
    try {
      const measured = await measure(generator, worker, load, PLAN, folder, signal);
      round[generator.name] = measured;
      const { cpuPerConnectionUs, cpuPerMessageUs } = measured;
      console.log(`${cpuPerConnectionUs.toFixed(0)} µs per connection, ${cpuPerMessageUs.toFixed(2)} µs per message`);
    } catch (error) {
      signal.throwIfAborted();
      absent[generator.label] = (error as Error).message;
      console.log(`failed: ${(error as Error).message}`);
    }
  }
  return round;
}
