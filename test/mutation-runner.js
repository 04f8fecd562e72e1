/**
 * What StrykerJS runs our tests by: code and tests are loaded once, and run in the same process for one mutant after the other,
 * each by the tests that reach it and until one fails. To start Node for each takes twenty times as long.
 *
 * In its process, this file is also what tests import as `node:test`. What stands at the top level of a file, a test or a
 * `describe`, is one test to Stryker; the body of a `describe` runs again for each mutant.
 */
import { globSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { mock } from 'node:test';
import { pathToFileURL } from 'node:url';
import { tests as patterns } from './mutation.config.js';

/** By which instrumented code knows the active mutant, and tells which test reached what. */
globalThis.__stryker__ ??= {};
const stryker = globalThis.__stryker__;

/** Of all files: at the top level, or of the `describe` whose body runs. */
let found = [];

function add(name, ...rest) {
  const body = rest.at(-1);
  found.push({
    name,
    async run() {
      const after = [];
      try {
        await body({ name, mock, after: (end) => after.unshift(end) });
      } finally {
        for (const end of after) await end();
        mock.reset();
      }
    },
  });
}

export { add as it, add as test };

export function describe(name, ...rest) {
  const body = rest.at(-1);
  found.push({
    name,
    async run() {
      const outside = found;
      found = [];
      const inside = found;
      try {
        body();
      } finally {
        found = outside;
      }
      for (const { run } of inside) await run();
    },
  });
}

let loading;

function load() {
  loading ??= loaded();
  return loading;
}

async function loaded() {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'node:test' ? { url: import.meta.url, shortCircuit: true } : next(specifier, context),
  });
  for (const file of globSync(patterns).sort()) await import(pathToFileURL(resolve(file)).href);
  return found.map(({ name, run }, index) => ({ id: `${index} ${name}`, name, run }));
}

/** @param ids of those to run; all by default @returns results of those up to the first that failed */
async function run(ids) {
  const tests = await load();
  const results = [];
  for (const { id, name, run } of tests) {
    if (ids && !ids.includes(id)) continue;
    stryker.currentTestId = id;
    const startedAtMs = performance.now();
    const failure = await run().then(
      () => undefined,
      (error) => String(error?.message ?? error),
    );
    stryker.currentTestId = undefined;
    const timeSpentMs = performance.now() - startedAtMs;
    results.push({ id, name, timeSpentMs, status: failure === undefined ? 0 : 1, failureMessage: failure });
    if (failure !== undefined) break;
  }
  return results;
}

const runner = {
  capabilities: () => ({ reloadEnvironment: false }),

  async dryRun() {
    // Twice: a test that passes once only would kill every mutant.
    const first = await run();
    const tests = first.some(({ status }) => status === 1) ? first : await run();
    return { status: 'complete', tests, mutantCoverage: stryker.mutantCoverage };
  },

  async mutantRun({ activeMutant, mutantActivation, testFilter, hitLimit }) {
    // A mutant of what runs as files are loaded has to be there by then, and one of what tests call must not be.
    if (mutantActivation === 'runtime') await load();
    Object.assign(stryker, {
      activeMutant: activeMutant.id,
      hitLimit,
      hitCount: hitLimit === undefined ? undefined : 0,
    });
    const results = await run(testFilter).catch((error) => [{ status: 1, id: 'load', failureMessage: error.message }]);
    const failed = results.find(({ status }) => status === 1);
    stryker.activeMutant = undefined;
    if (stryker.hitCount > hitLimit) return { status: 'timeout', reason: 'it runs a hundred times as often' };
    const nrOfTests = results.length;
    return failed
      ? { status: 'killed', killedBy: [failed.id], failureMessage: failed.failureMessage, nrOfTests }
      : { status: 'survived', nrOfTests };
  },
};

export const strykerPlugins = [{ kind: 'TestRunner', name: 'ours', value: runner }];
