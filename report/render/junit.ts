/** Renders a run as JUnit XML for CI servers: findings, verdict and thresholds as test cases, headline figures as properties. */
import { create } from 'xmlbuilder2';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { findingsByCause } from '../answer/answer.ts';
import { amountText } from '../model/amount.ts';

interface Case {
  className: string;
  name: string;
  /** Kind of a problem. `error`: the check could not be made. `failure`: the check failed. */
  problem?: { kind: 'error' | 'failure' | 'skipped'; message: string; details?: string };
  /** Its findings. */
  about?: Folded[];
}

type Folded = ReturnType<typeof findingsByCause>[number];

/** Returns the XML with one test suite, which is named after the scenario. */
export function renderJunit(result: Result): string {
  const { run } = result;
  const folded = findingsByCause(result.findings);
  // Returns the rank by which test cases are sorted: the position of their first finding in the answer.
  const rankOf = ({ about = [] }: Case) => Math.min(folded.length, ...about.map((one) => folded.indexOf(one)));
  const all = [verdictCase(result, folded), ...outcomeCases(result, folded), ...informing(result, folded)];
  const cases = all.toSorted((a, b) => rankOf(a) - rankOf(b));
  const count = (kind: string) => String(cases.filter(({ problem }) => problem?.kind === kind).length);
  const seconds = (Date.parse(run.endedAt) - Date.parse(run.startedAt)) / 1000;
  const facts = { run: run.id, target: run.target, profile: run.profile, engine: run.engine };
  const absent = Object.entries(result.absent).map(([section, reason]) => [`not measured: ${section}`, reason]);
  const figures = result.answer.lines.flatMap(({ figure }) => {
    return figure ? [[figure.name, typeof figure.value === 'string' ? figure.value : amountText(figure.value)]] : [];
  });
  const suite = {
    '@name': `socketio-capacity: ${run.scenario}`,
    '@tests': String(cases.length),
    '@failures': count('failure'),
    '@errors': count('error'),
    '@skipped': count('skipped'),
    '@time': seconds.toFixed(3),
    '@timestamp': run.startedAt,
    properties: {
      property: [...Object.entries(facts), ...figures, ...absent].map(([name, value]) => ({
        ...{ '@name': name, '@value': value },
      })),
    },
    testcase: cases.map(({ className, name, problem }) => ({
      ...{ '@classname': className, '@name': name, '@time': '0' },
      ...(problem && { [problem.kind]: { '@message': problem.message, '#': problem.details ?? '' } }),
    })),
  };
  const options = { version: '1.0', encoding: 'UTF-8', invalidCharReplacement: '' } as const;
  return escapeEachLine(create(options, { testsuites: { testsuite: suite } }).end({ prettyPrint: true }));
}

/**
 * Returns findings that neither fail the run nor invalidate a figure as skipped test cases. CI servers show the message
 * of a skipped case.
 */
function informing({ run }: Result, folded: Folded[]): Case[] {
  const isPlain = ({ fails, invalidates }: Finding) => fails === null && invalidates.length === 0;
  return folded
    .filter(({ cause, consequences }) => [cause, ...consequences].every(isPlain))
    .map((one) => {
      const problem = { kind: 'skipped', message: one.cause.message, details: causeText(one) } as const;
      return { className: `${run.scenario}.findings`, name: one.cause.code, problem, about: [one] };
    });
}

function verdictCase({ run, verdict: { status }, findings }: Result, folded: Folded[]): Case {
  const own = { className: run.scenario, name: 'measurement is VALID' };
  if (status === 'VALID') return own;
  const isDoubt = ({ invalidates }: Finding) => invalidates.length > 0;
  const doubts = folded.filter(({ cause, consequences }) => [cause, ...consequences].some(isDoubt));
  const message = `${status}: ${findings
    .filter(isDoubt)
    .map(({ code }) => code)
    .join(', ')}`;
  return {
    ...own,
    problem: { kind: status === 'INVALID' ? 'error' : 'failure', message, details: doubts.map(causeText).join('\n') },
    about: doubts,
  };
}

/** Describes a finding and the findings that it explains, as on the console. */
function causeText({ cause: { code, message, fix }, consequences }: Folded): string {
  const explained = consequences.map((one) => `    ${one.code}: ${one.message}`);
  return [`${code}: ${message}`, ...(explained.length > 0 ? ['  explains:', ...explained] : []), `  fix: ${fix}`].join(
    '\n',
  );
}

function outcomeCases(result: Result, folded: Folded[]): Case[] {
  const { status, thresholds } = result.outcome;
  const className = `${result.run.scenario}.thresholds`;
  if (status === 'UNKNOWN') {
    const problem = { kind: 'skipped' as const, message: 'not evaluated, because the measurement is INVALID' };
    return [{ className, name: 'thresholds are met', problem }];
  }
  return thresholds.map(({ name, met, strict, text }) => {
    if (met) return { className, name };
    if (!strict) return { className, name, problem: { kind: 'skipped', message: `missed, but optional: ${text}` } };
    const missing = folded.filter(({ cause, consequences }) =>
      [cause, ...consequences].some(({ fails }) => fails === name),
    );
    const details = missing.map(causeText).join('\n');
    return { className, name, problem: { kind: 'failure', message: `missed: ${text}`, details }, about: missing };
  });
}
