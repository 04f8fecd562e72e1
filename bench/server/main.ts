/** `npm run bench:server`: the effect of each tuning of our server. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { table } from '../../report/text/table.ts';
import { type Command, runCommand } from '../command.ts';
import { describeMachine } from '../machine.ts';
import { publishSection } from '../page.ts';
import { measure } from './measure.ts';
import { markdown, type Round, type ServerReport, tableHead, tableRows } from './report.ts';
import { VARIANTS } from './variants.ts';

const PLAN = { count: 20, bytes: 1000 };
const PACKAGES = ['socket.io', 'engine.io', 'ws'];

const optionsSchema = z.object({
  connections: z.coerce.number().int().min(400).multipleOf(4).default(4000),
  repeat: z.coerce.number().int().positive().default(1),
  only: z
    .string()
    .transform((list) => list.split(','))
    .pipe(z.array(z.enum(VARIANTS.map(({ name }) => name))))
    .optional(),
  publish: z.boolean().default(false),
});

await runCommand({
  usage: `usage: npm run bench:server -- [options]
  --connections <n>  multiple of 4, at least 400 (default 4,000)
  --repeat <n>       rounds; the table has medians (default 1)
  --only <names>     some of the rows, with commas between them
  --publish          write the section of docs/benchmarks.md, too`,
  schema: optionsSchema,
  run,
});

async function run({ options, command, signal }: Command<z.output<typeof optionsSchema>>): Promise<void> {
  const { connections, repeat, only, publish } = options;
  const startedAt = new Date().toISOString();
  const rounds: Round[] = [];
  const failed: Record<string, string> = {};
  for (let index = 0; index < repeat; index++) {
    console.log(`Round ${index + 1} of ${repeat}`);
    const round: Round = {};
    rounds.push(round);
    for (const variant of VARIANTS.filter(({ name }) => only?.includes(name) ?? true)) {
      process.stdout.write(`  ${variant.name} … `);
      try {
        const measured = await measure(variant, connections, PLAN, signal);
        round[variant.name] = measured;
        console.log(`${measured.rssPerConnectionBytes.toFixed(0)} bytes of RSS per connection`);
      } catch (error) {
        signal.throwIfAborted();
        failed[variant.name] = (error as Error).message;
        console.log(`failed: ${(error as Error).message}`);
      }
    }
  }
  const report: ServerReport = {
    startedAt,
    command,
    connections,
    broadcasts: PLAN.count,
    bytes: PLAN.bytes,
    machine: describeMachine(PACKAGES),
    rounds,
    failed,
  };
  console.log(`\n${table(tableHead, tableRows(rounds), '').join('\n')}\n`);
  const folder = join('results', `bench-server-${startedAt.replace(/[:.]/g, '-').slice(0, 19)}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'result.json'), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(folder, 'report.md'), markdown(report));
  console.log(`Written to ${folder}`);
  if (publish) publishSection('server', markdown(report));
}
