/** The pages of the reference that are made from catalogues: metrics, codes, commands. */
import type { Command } from 'commander';
import { helpOf } from '../../plugin/cli/command.ts';
import { createProgram } from '../../plugin/cli/program.ts';
import { LIMITS, TARGET_CHECKS, WARNINGS } from '../../plugin/doctor/checks.ts';
import { SERIES as LIVE_SERIES } from '../../plugin/live/series.ts';
import { runMetrics } from '../../plugin/result/run-metrics.ts';
import { METRICS } from '../../plugin/virtual-user/metrics.ts';
import { ERROR_CODES } from '../../protocol/codes/error-codes.ts';
import { RUN_EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { FAILURE_CODES } from '../../protocol/codes/failure-codes.ts';
import { VERDICT_REASONS } from '../../protocol/codes/verdict-reasons.ts';
import { code, escaped, section, seriesTable, table } from './tables.ts';

export function metrics(): string {
  const engine = Object.values(METRICS).map(({ name, kind, unit, help }) => [code(name), kind, unit, help]);
  const run = runMetrics().map(({ name, kind, unit, path }) => [code(name), kind, unit, code(path)]);
  return [
    section('Engine', table(['metric', 'kind', 'unit', 'meaning'], engine)),
    section(
      'Plugin',
      'At the end of the run, for `ensure`. A summary has `count`, `min`, `mean`, `median`, `p50`, `p90`, `p95`, `p99`, `p999` and `max`.',
      table(['metric', 'kind', 'unit', 'key of the [result](./result.md)'], run),
    ),
    section(
      'Prometheus',
      'At `/metrics` of the live page (option `live`), all with `run` and `scenario`.',
      seriesTable(LIVE_SERIES),
    ),
  ].join('\n\n');
}

export function errors(): string {
  const codes = (all: Record<string, { meaning: string; remedy: string }>) => {
    const alike = Map.groupBy(Object.entries(all), ([, { meaning, remedy }]) => `${meaning}|${remedy}`);
    const rows = [...alike.values()].map((group) => {
      const [, { meaning, remedy }] = group[0] as (typeof group)[0];
      return [group.map(([name]) => code(name)).join(', '), meaning, remedy];
    });
    return table(['code', 'meaning', 'what to do'], rows);
  };
  const reasons = Object.entries(VERDICT_REASONS).map(([name, { invalidates, meaning, remedy }]) => {
    const isInvalid = invalidates.includes('run');
    return [code(name), isInvalid ? 'INVALID' : invalidates.join(', '), meaning, remedy];
  });
  return [
    section(
      'Exit codes',
      'Of `artillery run`; each command of `npx socketio-capacity` has [its own](./cli.md).',
      table(['exit code', 'meaning'], Object.entries(RUN_EXIT_CODES)),
    ),
    section(
      'Verdict',
      'Of `verdict.reasons`. Those that do not make a run INVALID make it SUSPECT, and cast doubt on the figures in the second column.',
      table(['code', 'doubt', 'meaning', 'what to do'], reasons),
    ),
    section('Errors', 'Of commands and runs, before the load or instead of it.', codes(ERROR_CODES)),
    section(
      'Failures of virtual users',
      'The metrics `errors.<code>`, and keys of `connections.failures`.',
      codes(FAILURE_CODES),
    ),
  ].join('\n\n');
}

export function cli(): string {
  const checks = { limit: LIMITS, warning: WARNINGS, 'check of a target': TARGET_CHECKS };
  const doctor = Object.entries(checks).map(([kind, all]) =>
    table(
      [kind, 'what is checked'],
      Object.entries(all).map(([name, help]) => [code(name), help]),
    ),
  );
  return leavesOf(createProgram(), '')
    .map(([name, command]) => [commandSection(name, command), ...(name === 'doctor' ? doctor : [])].join('\n\n'))
    .join('\n\n');
}

function leavesOf(command: Command, name: string): [string, Command][] {
  const visible = command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help');
  if (visible.length === 0) return [[name, command]];
  return visible.flatMap((one) => leavesOf(one, `${name} ${one.name()}`.trim()));
}

function commandSection(name: string, command: Command): string {
  const { exitCodes: codes } = helpOf(command);
  const args = command.registeredArguments.map((one) => [
    code(one.required ? `<${one.name()}>` : `[${one.name()}${one.variadic ? '...' : ''}]`),
    String(one.defaultValue ?? ''),
    one.argChoices ? one.argChoices.map(code).join(', ') : one.description,
  ]);
  const options = command.options.filter(({ long }) => long !== '--json');
  const given = options.map(({ flags, defaultValue, description }) => [
    ...[code(flags), defaultValue === undefined ? '' : code(String(defaultValue)), description],
  ]);
  return section(
    code(name),
    escaped(command.description()),
    table(['argument or option', 'default', 'meaning'], [...args, ...given]),
    `Exit codes: ${Object.entries(codes)
      .map((entry) => entry.join(' '))
      .join('; ')}.`,
  );
}
