/**
 * Tests results, scenarios and errors with hostile names. Printing them must control neither a terminal nor a CI
 * system.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { printJson } from '../../../plugin/cli/command.ts';
import { createProgram } from '../../../plugin/cli/program.ts';
import { REPORT_FILES } from '../../../plugin/result/report-files.ts';
import { describeError } from '../../../protocol/codes/errors.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { compareSets } from '../../../report/compare/compare.ts';
import { comparisonDocument } from '../../../report/compare/compare-page.ts';
import { renderConsole, renderRunConsole } from '../../../report/render/console.ts';
import { renderMarkdown } from '../../../report/render/markdown.ts';
import { runDocument } from '../../../report/sections/run-document.ts';
import { finding, withFindings } from '../../helpers/findings.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const EVIL = '\u001b[2J\u009b1m\r\n::error title=x::pwned\u202e\n##vso[task.setvariable]x';
const COMMAND = /^\s*::[\w-]+.*::|##\w*\[/m;
const CONTROL = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;

function assertHarmless(text: string): void {
  assert.ok(text.includes('pwned'), 'what was said is shown');
  assert.doesNotMatch(text, CONTROL);
  assert.doesNotMatch(text, COMMAND);
}

/** Returns a result with hostile text in every field and in every name of a figure. */
function untrustedResult(): Result {
  const result = perfectResult();
  Object.assign(result.run, { id: EVIL, scenario: EVIL, target: EVIL });
  Object.assign(result.connections, { failed: 1, failures: { [EVIL]: 1 }, failureExamples: { [EVIL]: EVIL } });
  return withFindings(result, finding('GENERATOR_LATE', EVIL, { fix: EVIL }));
}

it('prints an untrusted result without control sequences, as a run and in a comparison', () => {
  const result = untrustedResult();
  for (const width of [20, 80, 500]) {
    const options = { color: false, width };
    assertHarmless(renderRunConsole(runDocument(result), { ...options, verbose: true }));
    const sets = [result, perfectResult()].map((one) => ({ name: EVIL, results: [one] }));
    assertHarmless(renderConsole(comparisonDocument(compareSets(sets)), options));
  }
});

it('writes an untrusted result without control sequences to each report file', () => {
  const result = untrustedResult();
  result.samples = [{ t: 0, connections: 1, [EVIL]: { [EVIL]: `=${EVIL}` } }];
  for (const [name, render] of REPORT_FILES) {
    const text = render(result);
    assert.ok(text.includes('pwned'), name);
    assert.doesNotMatch(text, CONTROL, name);
    if (name !== 'report.html') assert.doesNotMatch(text, COMMAND, name);
  }
});

it('renders an untrusted result as Markdown without links and mentions', () => {
  const linked = ['http://evil.example', 'www.evil.example', 'a@evil.example', '@name', '#123', 'o/r#7', 'GH-9', '!5'];
  const texts = linked.flatMap((one) => [`see ${one}, now`, `\`${one}\``, `|${one}|`, `\\\`${one}`, `(${one})*`]);
  const result = untrustedResult();
  result.findings = texts.map((text) => ({ ...finding('GENERATOR_LATE', text, { fix: text }), code: text }));
  result.run.target = texts.join(' ');
  const markdown = renderMarkdown(runDocument(result));
  for (const one of linked) assert.ok(markdown.includes(one), one);
  const plain = markdown.replace(/\\.|`[^`\n]*`/g, ' ');
  assert.doesNotMatch(plain, /@|:\/\/|www\.|[#!]\d|GH-\d/);
  assert.doesNotMatch(plain, /`/, 'no code without an end');
});

it('prints the check of an untrusted result without control sequences', async (t) => {
  const printed: string[] = [];
  t.mock.method(console, 'log', (text: string) => printed.push(text));
  t.after(() => (process.exitCode = undefined));
  const result = untrustedResult();
  result.findings = [{ ...finding('GENERATOR_LATE', EVIL), code: EVIL }];
  const file = join(tempFolder(t), 'result.json');
  writeFileSync(file, JSON.stringify(result));
  await createProgram().parseAsync(['check', file], { from: 'user' });
  assertHarmless(printed.join('\n'));
});

it('prints an untrusted result as JSON without control sequences', (t) => {
  const printed: string[] = [];
  t.mock.method(console, 'log', (text: string) => printed.push(text));
  const result = untrustedResult();
  printJson(result);
  assertHarmless(printed.join('\n'));
  assert.deepEqual(JSON.parse(printed.join('')), JSON.parse(JSON.stringify(result)));
});

it('prints unknown options of an untrusted scenario without control sequences', () => {
  assert.throws(
    () => hookConfig({ [EVIL]: { [EVIL]: EVIL } }, { [EVIL]: EVIL, engines: { 'socketio-capacity': { [EVIL]: 1 } } }),
    (error) => {
      assertHarmless(describeError(error));
      return true;
    },
  );
});
