/**
 * Mutation tests of the code that decides: StrykerJS changes one place at a time, and some test has to fail.
 *
 *     npm run test:mutation                  all areas, one after the other in one run
 *     AREA=ledger npm run test:mutation      one of them
 *
 * Texts are not mutated, because tests hold behaviour and not wording.
 */

/** Code, and the tests that are to notice a change of it: few, since each starts a process for each mutant. */
const AREAS = {
  statistics: {
    mutate: ['report/statistics/*.ts'],
    tests: ['test/unit/report/{statistics,straightness,spread,quantile-intervals}.test.ts'],
  },
  ledger: {
    mutate: ['plugin/fleet/process/ledger/*.ts'],
    tests: ['test/unit/fleet/{ledger,copies,sightings,room-share,merge}.test.ts'],
  },
  frames: { mutate: ['plugin/fleet/light/websocket/*.ts'], tests: ['test/unit/fleet/light/*.test.ts'] },
  clocks: { mutate: ['protocol/clock/*.ts'], tests: ['test/unit/protocol/c*.test.ts'] },
  verdict: {
    mutate: ['plugin/result/verdict.ts', 'plugin/result/reasons/*.ts'],
    tests: ['test/unit/result/*.test.ts'],
  },
  search: { mutate: ['report/search/{judge,bracket,blame,sizing}.ts'], tests: ['test/unit/report/search-*.test.ts'] },
  compare: {
    mutate: ['report/compare/{compare,counted,comparability}.ts'],
    tests: ['test/unit/report/compare.test.ts'],
  },
};

const { AREA } = process.env;
if (AREA !== undefined && !(AREA in AREAS)) throw new Error(`AREA=${AREA}: ${Object.keys(AREAS).join(', ')}`);
const areas = AREA === undefined ? Object.values(AREAS) : [AREAS[AREA]];

export default {
  mutate: areas.flatMap(({ mutate }) => mutate),
  mutator: { excludedMutations: ['StringLiteral'] },
  testRunner: 'tap',
  tap: {
    testFiles: areas.flatMap(({ tests }) => tests),
    nodeArgs: ['--test-reporter=tap', '--disable-warning=ExperimentalWarning'],
  },
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  // Node strips the types itself; Stryker would look for the TypeScript compiler's old interface.
  tsconfigFile: 'none',
  reporters: ['clear-text', 'progress'],
  clearTextReporter: { allowColor: false, logTests: false },
  tempDirName: '.mutants',
  thresholds: { high: 95, low: 90, break: 85 },
};
