/**
 * Judges whether a level of a search held: by the findings and the outcome of its run, and by the search's conditions.
 */
import { EXPECTATION_NAMES } from '../../protocol/codes/expectations.ts';
import { FINDINGS, type FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Blame, SearchPlan, SearchRunOutcome, SearchRunReason } from '../../protocol/documents/search-schema.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { leadingFindings } from '../answer/answer.ts';
import { isThresholdMissed } from '../answer/outcome.ts';
import { checkConditions, conditionText, metConditionText, whyConditionUnknown } from '../conditions/conditions.ts';
import { invalidatedBy } from '../figures/figures.ts';
import { sharesMachine } from '../figures/places.ts';

interface Judgement {
  outcome: Exclude<SearchRunOutcome, 'error'>;
  /** Cause of a broken or undecided level (number of connections or rate); null if the level held. */
  blame: Blame | null;
  /**
   * Findings that explain the outcome, the most important first. If the level held, these are findings that do not
   * affect the answer.
   */
  because: SearchRunReason[];
}

/**
 * Judges a run of a search. Findings about the deployment break the run's level (number of connections or rate).
 * Findings about the generator or its machine leave it undecided. The conditions of `until` replace the run's
 * expectations and thresholds, with two exceptions: an INVALID run never holds, and the requested rate or number of
 * connections must be reached unless a condition allows less.
 */
export function judgeSearchRun(result: Result, { until, vary }: Pick<SearchPlan, 'until' | 'vary'>): Judgement {
  const { findings, verdict } = result;
  const leading = leadingFindings(findings);
  const [first] = leading;
  if (verdict.status === 'INVALID' && first) {
    const blame = blameOf(first, result);
    return {
      outcome: blame === 'deployment' ? 'breaks' : 'cannotTell',
      blame,
      because: withConsequences(first, findings),
    };
  }
  const notReached = {
    rate: 'RATE_NOT_REACHED',
    connections: until.some(({ key }) => key.startsWith('connections.')) ? undefined : 'TARGET_NOT_REACHED',
    broadcastsPerSec: undefined,
    bytes: undefined,
  }[vary];
  const isAsked = (finding: Finding) =>
    finding.code === notReached || (until.length === 0 && (isDoubt(finding) || expectationOf(finding) !== undefined));
  const missed = findings.filter(isAsked).map((finding) => ({ finding, cause: foreignCause(finding, findings) }));
  const failing = missed.flatMap(({ finding, cause }) =>
    !cause && (finding.fails !== null || isDoubt(finding) || finding.code === notReached) ? finding : [],
  );
  const excused = missed.flatMap(({ cause }) => cause ?? []);
  const checked = checkConditions(until, result);
  const met = [
    ...checked
      .filter((one) => one.met)
      .map((one) => {
        const { key } = one.condition;
        const counts = /^(connections|delivery)\./.test(key);
        return {
          text: metConditionText(one, result),
          cause: foreignInvalidation(key, result) ?? (counts ? excused[0] : undefined),
        };
      }),
    ...(until.length > 0 ? [] : ownThresholds(result)).map((text) => ({
      text,
      cause: findings.find((one) => one.invalidates.length > 0 && isForeign(one) && one.about !== 'measurement'),
    })),
  ];
  const broken = met.filter(({ cause }) => !cause);
  const conditions = broken.map(({ text }) => ({ code: null, text, isCause: false }));
  if (broken.length > 0 || failing.length > 0) {
    const because = explained(failing, leading, findings);
    return { outcome: 'breaks', blame: 'deployment', because: [...conditions, ...because] };
  }
  const cause = excused[0] ?? met[0]?.cause;
  if (cause) {
    const because = [
      ...withConsequences(cause, findings),
      ...met.map(({ text }) => ({ code: null, text, isCause: false })),
    ];
    return { outcome: 'cannotTell', blame: blameOf(cause, result), because };
  }
  const unknown = checked.filter(({ value }) => value === null);
  if (unknown.length > 0) {
    const because = unknown.map(({ condition }) => {
      return {
        code: null,
        text: `\`${conditionText(condition)}\`: ${whyConditionUnknown(condition, result)}`,
        isCause: false,
      };
    });
    return { outcome: 'cannotTell', blame: 'measurement', because };
  }
  return { outcome: 'holds', blame: null, because: leading.map((finding) => becauseOf(finding)) };
}

/** Returns the missed thresholds of `ensure` that fail the run (`strict`). */
function ownThresholds({ outcome }: Result): string[] {
  const own = outcome.thresholds.filter(({ name }) => !(EXPECTATION_NAMES as string[]).includes(name));
  return own.filter(isThresholdMissed).map(({ text }) => text);
}

/** Returns whether a finding is about something other than the deployment or the application. */
function isForeign({ about }: Finding): boolean {
  return about !== 'deployment' && about !== 'application';
}

function foreignCause(finding: Finding, all: Finding[]): Finding | undefined {
  return [finding, ...all.filter(({ explains }) => explains.includes(finding.code))].find(isForeign);
}

/** Returns the finding about the generator or its machine that invalidates the figure at this path. */
function foreignInvalidation(path: string, { findings }: Result): Finding | undefined {
  const codes = invalidatedBy({ findings }, path);
  const causes = findings.filter(({ code }) => codes.includes(code)).map((one) => foreignCause(one, findings));
  return causes.find((cause) => cause?.about === 'generator' || cause?.about === 'machine');
}

/** Returns whether a finding about the deployment invalidates figures. */
function isDoubt(finding: Finding): boolean {
  return finding.invalidates.length > 0 && !isForeign(finding);
}

/**
 * Returns the expectation that a finding fails, even if the expectation counts as met because the generator caused the
 * finding.
 */
function expectationOf({ code, fails }: Finding): string | undefined {
  return fails ?? FINDINGS[code as FindingCode]?.fails;
}

function blameOf({ about }: Finding, result: Result): Blame {
  if (about === 'application') return 'deployment';
  return about === 'machine' && !sharesMachine(result) ? 'generator' : about;
}

function becauseOf({ code, message }: Finding, isCause = false): SearchRunReason {
  return { code, text: message, isCause };
}

function withConsequences(cause: Finding, all: Finding[]): SearchRunReason[] {
  return [cause, ...all.filter(({ code }) => cause.explains.includes(code))].map((one) => becauseOf(one));
}

/**
 * Sorts the reasons for the outcome of a run: failures that no other finding explains, then their causes, then their
 * consequences.
 */
function explained(failing: Finding[], leading: Finding[], all: Finding[]): SearchRunReason[] {
  const isOf = (effect: Finding) => (cause: Finding) => cause.explains.includes(effect.code);
  const [consequences = [], roots = []] = [true, false].map((is) =>
    failing.filter((one) => failing.some(isOf(one)) === is),
  );
  const causes = all.filter((one) => !failing.includes(one) && roots.some((root) => isOf(root)(one)));
  // If no finding fails the run, a finding about an exhausted resource can explain a missed condition, so it is listed.
  const informing = leading.filter(
    (one) => failing.length === 0 && one.fails === null && one.invalidates.length === 0 && !isForeign(one),
  );
  return [
    ...roots.map((one) => becauseOf(one)),
    ...[...causes, ...informing].map((one) => becauseOf(one, true)),
    ...consequences.map((one) => becauseOf(one)),
  ];
}
