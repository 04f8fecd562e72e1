/**
 * Mutation tests of the code that decides: StrykerJS changes one place at a time, and some test has to fail.
 *
 *     AREA=ledger npm run test:mutation
 *
 * Texts are not mutated, because tests hold behaviour and not wording.
 */

import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const FINDINGS_TESTS = ['test/unit/result/{*findings,copies,fault,members,messages,own-event,stalls,verdict}.test.ts'];

/**
 * Code of each area, and tests that should fail if it changes. Only quick tests, without simulations, because all tests that
 * reach a mutant run for it.
 */
const AREAS = {
  statistics: {
    mutate: ['report/statistics/*.ts'],
    tests: ['test/unit/report/{statistics,straightness,quantile-intervals,plateaus}.test.ts'],
  },
  ledger: {
    mutate: ['plugin/fleet/process/ledger/*.ts'],
    tests: ['test/unit/fleet/{ledger,ledger-members,copies,room-share,merge,churn,process-sightings}.test.ts'],
  },
  frames: {
    mutate: ['plugin/fleet/light/websocket/frames.ts'],
    tests: ['test/unit/fleet/light/{frames,hostile,codec,split-streams,per-message-deflate}.test.ts'],
  },
  clocks: { mutate: ['protocol/base/clock/*.ts'], tests: ['test/unit/protocol/clock-*.test.ts'] },
  verdict: { mutate: ['plugin/findings/*.ts', 'plugin/findings/causes/*.ts'], tests: FINDINGS_TESTS },
  checks: { mutate: ['plugin/findings/checks/**/*.ts'], tests: FINDINGS_TESTS },
  search: {
    mutate: ['report/search/{bracket,judge,next-search-step,sizing}.ts'],
    tests: ['test/unit/report/search-{judge,next-step,reasons,sizing}.test.ts'],
  },
  compare: {
    mutate: ['report/compare/{compare,decide,comparison-outcome,estimates,comparability}.ts'],
    tests: [
      'test/unit/report/{comparability,counted-figures,compare,compare-document,detectable,invalidated,no-difference,study}.test.ts',
    ],
  },
};

// All processes compile mostly the same code.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/test');

const { AREA } = process.env;
const area = AREAS[AREA];
if (!area) throw new Error(`AREA=${AREA}: ${Object.keys(AREAS).join(', ')}`);

/** Tests that the runner loads. */
export const { tests } = area;

export default {
  mutate: area.mutate,
  mutator: { excludedMutations: ['StringLiteral'] },
  plugins: ['./test/mutation-runner.js'],
  testRunner: 'ours',
  coverageAnalysis: 'perTest',
  concurrency: availableParallelism(),
  // Node strips the types itself; Stryker would look for the TypeScript compiler's old interface.
  tsconfigFile: 'none',
  reporters: ['clear-text', 'progress'],
  clearTextReporter: { allowColor: false, logTests: false },
  tempDirName: '.mutants',
  cleanTempDir: 'always',
  thresholds: { high: 95, low: 90, break: 85 },
};
