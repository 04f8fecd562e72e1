/** Describes the answer of a search in one sentence. */

import type {
  SearchEnd,
  SearchedQuantity,
  SearchPlan,
  SearchResult,
  SearchRun,
  SearchRunReason,
} from '../../protocol/documents/search-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { countText, decimalsText, spacedWords } from '../text/format.ts';
import { fadedLevels, findBracket, type LevelTally } from './bracket.ts';

/** A run that a search made, with its result if it has one. */
export interface SearchedRun {
  run: SearchRun;
  result: Result | undefined;
}

/** Unit of a level (number of connections or rate), and the text that follows it. */
const UNITS: Record<SearchedQuantity, [unit: string, per: string]> = {
  connections: ['connection', ''],
  rate: ['new connection', ' per second'],
  broadcastsPerSec: ['broadcast', ' per second'],
  bytes: ['byte', ' of payload in each broadcast'],
};

/** Formats a level (number of connections or rate) as `41,000` or `2.5`, with decimals only if needed. */
export function levelText(level: number): string {
  return level.toLocaleString('en-US', { maximumFractionDigits: level < 10 ? 3 : 1 });
}

/** Formats a level with its unit, such as `41,000 connections`. */
export function levelAmountText(level: number, vary: SearchedQuantity): string {
  const [unit, per] = UNITS[vary];
  return (Number.isInteger(level) ? countText(level, unit) : `${levelText(level)} ${unit}s`) + per;
}

/** Returns a text about how many runs at a level held, such as `8 of 10 runs`. */
export function heldRunsText({ held, broke }: LevelTally): string {
  const all = held + broke;
  if (broke > 0) return `${held} of ${countText(all, 'run')}`;
  return all === 1 ? 'its only run' : `all ${all} runs`;
}

/**
 * Returns the answer of a search.
 * @param end why the search ended; null while it is running
 * @param limit limit that ended the search before a run
 */
export function searchAnswerOf(
  plan: SearchPlan,
  runs: SearchedRun[],
  end: SearchEnd | null,
  limit: SearchResult['limit'],
): SearchResult['answer'] {
  const tried = runs.map(({ run }) => run);
  const { held, broke } = findBracket(tried);
  const faded = tried.at(-1)?.purpose === 'control' ? 0 : fadedLevels(tried).length;
  // The run that reached a limit of the generator, its machine or the measurement, or the first run at the level that
  // broke.
  const stopped = end === 'generator' || end === 'machine' || end === 'measurement' ? runs.at(-1) : undefined;
  const at = stopped ?? runs.find(({ run }) => run.level === broke?.level && run.outcome === 'breaks');
  const evidence = (at?.run.because ?? []).filter(({ isCause }) => isCause || at === stopped);
  return {
    sentence: sentenceOf(plan, {
      held,
      at,
      evidence,
      end,
      limit,
      faded,
      last: runs.at(-1),
      hosts: hostsOf(runs, held),
    }),
    end,
    held: held?.level ?? null,
    heldRuns: held?.held ?? 0,
    runs: held ? held.held + held.broke : 0,
    broke: at?.run.level ?? null,
    evidence,
  };
}

interface Facts {
  held: LevelTally | undefined;
  at: SearchedRun | undefined;
  evidence: SearchRunReason[];
  end: SearchEnd | null;
  limit: SearchResult['limit'];
  /**
   * Number of levels that first held and later broke. It is 0 if the deployment does not recover after a run that
   * broke.
   */
  faded: number;
  last: SearchedRun | undefined;
  /** Number of generator hosts that made the run at the highest level that held. */
  hosts: number;
}

function hostsOf(runs: SearchedRun[], held: LevelTally | undefined): number {
  const run = runs.findLast((one) => one.run.level === held?.level && one.run.outcome === 'holds');
  return Math.max(1, run?.result?.generators.length ?? 1);
}

/**
 * Returns a text about how many generator hosts would reach a level; empty if the level does not depend on the hosts.
 * @param each level that one host reaches
 */
function enoughHosts(level: number | null | undefined, each: number, vary: SearchedQuantity): string {
  if (!level || each <= 0 || (vary !== 'connections' && vary !== 'rate')) return '';
  return `; ${Math.ceil(level / each)} such hosts would reach ${levelText(level)}`;
}

function sentenceOf(plan: SearchPlan, facts: Facts): string {
  const { vary, to } = plan;
  const { held, at, evidence, end, limit, faded, last, hosts } = facts;
  const broken = at?.run.because[0]?.text ?? '';
  const holds =
    held === undefined
      ? undefined
      : `This deployment held ${levelAmountText(held.level, vary)} in ${heldRunsText(held)}`;
  const atLeast = holds ?? 'No level held';
  const perhapsMore = holds
    ? `${holds}, and perhaps holds more`
    : 'No level held, which need not be the deployment’s limit';
  const level = at && levelText(at.run.level);
  const because = evidence[0] ? `, because ${evidence[0].text}` : '';
  switch (end) {
    case 'found':
      return `${holds}; at ${level}, ${broken}${because}.`;
    case 'none':
      return `This deployment did not even hold ${at && levelAmountText(at.run.level, vary)}, the lowest level of the search: ${broken}${because}.`;
    case 'recovery':
      return faded > 0
        ? `${atLeast}, and ${countText(faded, 'level')} that had held broke later: it holds less the longer it runs. Restart it, and search again.`
        : `${holds}, but not again after a higher level had broken, however long it rested: restart it, and search again.`;
    case 'highest':
      return to === null
        ? `${holds}, and the phases of this scenario are too short for a higher rate.`
        : `${holds}, the highest level that was asked for; nothing broke.`;
    case 'doctor':
      return `${perhapsMore}: the machine allows no higher level (${spacedWords(limit?.name ?? '')}: at most ${decimalsText(limit?.max ?? 0, 0)} connections${limit?.name.startsWith('generator') ? enoughHosts(to, limit.max, vary) : ''}).`;
    case 'generator':
      return `${perhapsMore}: at ${level}, the generator was the limit, not the deployment (${broken})${enoughHosts(to ?? at?.run.level, (held?.level ?? 0) / hosts, vary)}.`;
    case 'machine':
      return `${perhapsMore}: at ${level}, the machine that it shares with the generator was the limit (${broken}).`;
    case 'measurement':
      return `${atLeast}, and the search ended there: at ${level}, the measurement is in doubt (${broken}).`;
    case 'error':
      return `${atLeast}, and the search ended there: a run at ${last && levelText(last.run.level)} did not come to its end: ${last?.run.because[0]?.text}.`;
    case null:
      return holds
        ? `${holds} so far${at ? `; at ${level}, ${broken}${because}` : ''}. The search is not finished.`
        : 'No level has held so far. The search is not finished.';
  }
}
