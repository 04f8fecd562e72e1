/**
 * Test runner for StrykerJS. It loads code and tests once, and runs all mutants in the same process. For each mutant, it
 * runs the tests that reach it, until one fails. Starting Node for each mutant would take twenty times as long.
 *
 * In this process, tests import this file in place of `node:test`. Stryker sees each `test` and each `describe` at the
 * top level of a file as one test. The body of a `describe` runs again for each mutant.
 */
import { equal } from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { mock } from 'node:test';
import { pathToFileURL } from 'node:url';
import { tests as patterns } from './mutation.config.js';

/** Variable in which instrumented code reads the active mutant, and records which test reached which code. */
globalThis.__stryker__ ??= {};
const stryker = globalThis.__stryker__;

/** Tests of all files at the top level, or the tests of the `describe` whose body runs. */
let found = [];

/** Compares a text with a file, like `fileSnapshot` of `node:test`. */
const assertions = { fileSnapshot: (text, path) => equal(text, readFileSync(path, 'utf8')) };

function add(name, ...rest) {
  const body = rest.at(-1);
  found.push({
    name,
    async run() {
      const after = [];
      try {
        await body({ name, mock, assert: assertions, after: (end) => after.unshift(end) });
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

/**
 * @param ids ids of the tests to run; by default all tests
 * @returns results of the tests, up to the first test that failed
 */
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
    // Runs the tests twice, because a test that passes only once would kill every mutant.
    const first = await run();
    const tests = first.some(({ status }) => status === 1) ? first : await run();
    return { status: 'complete', tests, mutantCoverage: stryker.mutantCoverage };
  },

  async mutantRun({ activeMutant, mutantActivation, testFilter, hitLimit }) {
    // A mutant in code that runs while files load must be active by then. A mutant in other code must not be active.
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
