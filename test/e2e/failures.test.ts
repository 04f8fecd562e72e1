/**
 * Tests failures that people report in public. The first finding must name the cause, and a page of the documentation
 * quotes it.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { leadingFindings } from '../../report/answer/answer.ts';
import { closings } from '../helpers/failures/closings.ts';
import { deliveries } from '../helpers/failures/deliveries.ts';
import { type Failure, HOLD, type Served, USERS } from '../helpers/failures/failure.ts';
import { leaks } from '../helpers/failures/leaks.ts';
import { assertPage, failuresPage, type Quote } from '../helpers/failures/page.ts';
import { refusals } from '../helpers/failures/refusals.ts';
import { inProcessScript, startInProcess } from '../helpers/in-process-run.ts';

const PAGE = fileURLToPath(new URL('../../docs/guide/what-it-looks-like.md', import.meta.url));
const SECTIONS = {
  'Clients cannot connect': refusals,
  'Clients are disconnected': closings,
  Messages: deliveries,
  Memory: leaks,
};

/** Messages of the runs that the page quotes, by failure. */
const quotes = new Map<Failure, Quote>();

/** Selects findings about the server. Findings about a busy machine do not count. */
const isOfServer = ({ about }: { about: string }) => about === 'deployment' || about === 'application';

/** Maximum number of disturbed runs. A run that other programs disturb too much has no figures. */
const MOST_DISTURBED_RUNS = 2;

function startRun({ flow = HOLD, engineOptions = {}, options = {}, phases }: Failure, served: string | Served) {
  const { target, options: named = {}, environment } = typeof served === 'string' ? { target: served } : served;
  const config = { target, ...(phases && { phases }) };
  const quick = { warmUp: 0, singleRoundTrips: 0, hold: 2, ...options, ...named };
  return startInProcess(inProcessScript(config, quick, engineOptions, flow, USERS / 2), [{}], environment);
}

/**
 * Asserts the first finding of a run. If the first finding is that other programs used the CPUs, the run has no figures
 * and is repeated on a new server.
 * @returns the first finding in the form that the page quotes
 */
async function assertFirstFinding(t: TestContext, failure: Failure, disturbed = 0): Promise<Quote> {
  const { code, about = 'deployment', message, fix = /./ } = failure;
  const run = startRun(failure, await failure.serve(t));
  if (code === 'TARGET_UNREACHABLE') {
    const { output, exitCode } = await run.failed;
    const [, found = '', remedy = ''] = /TARGET_UNREACHABLE: ([\s\S]*?)\n {2}fix: ([\s\S]*)$/.exec(output) ?? [];
    assert.match(found.replace(/\s+/g, ' '), message, output);
    assert.match(remedy, fix, output);
    assert.equal(exitCode, EXIT_CODES.refused, output);
    return { message: `${code}: ${found}`, fix: remedy.trim() };
  }
  const { result, exitCode, output } = await run.ended;
  const leading = leadingFindings(result.findings);
  if (
    result.outcome.status === 'UNKNOWN' &&
    leading[0]?.code === 'MACHINE_SATURATED' &&
    disturbed < MOST_DISTURBED_RUNS
  )
    return assertFirstFinding(t, failure, disturbed + 1);
  const [first, ...others] = leading.filter(isOfServer);
  assert.equal(first?.code, code, output);
  assert.match(first.message, message, output);
  assert.equal(first.about, about);
  assert.match(first.fix, fix);
  assert.deepEqual(
    [result.outcome.status, exitCode === EXIT_CODES.worse],
    failure.passes ? ['PASSED', false] : ['FAILED', true],
    output,
  );
  // A slow machine may also fail to reach the rate of the ramp.
  const unexpected = others.filter(({ code }) => code !== 'RATE_NOT_REACHED');
  assert.deepEqual(unexpected, [], output);
  return { message: `${failure.passes ? 'Passed.' : 'Failed:'} ${first.message}`, fix: `${first.fix} (${first.code})` };
}

describe('failures that people report', { concurrency: 3 }, () => {
  for (const failure of Object.values(SECTIONS).flat()) {
    it(`the first finding of a run names the cause of "${failure.symptom}": ${failure.situation}`, async (t) => {
      quotes.set(failure, await assertFirstFinding(t, failure));
    });
  }

  // Writes the page only if all failures were tested. `--test-name-pattern` selects only some.
  after(() => {
    const all = Object.values(SECTIONS).flat();
    if (quotes.size < all.length) return;
    const page = failuresPage(SECTIONS, quotes);
    if (process.execArgv.includes('--test-update-snapshots')) writeFileSync(PAGE, page);
    assertPage(readFileSync(PAGE, 'utf8'), page, all);
  });
});
