/**
 * Finds promises that a callback returns to an emitter or a timer. A rejected promise without a handler ends the
 * process. Biome finds only promises that a statement drops.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { parseSync, Visitor } from 'oxc-parser';
import { sourceFiles } from '../helpers/imports.ts';
import { ROOT } from '../helpers/pages.ts';

/** Methods and functions that ignore the result of their callback. */
const METHODS = /^(on|once|onAny|use|addListener|prependListener|addEventListener|nextTick)$/;
const FUNCTIONS = /^(createServer|createTlsServer|setTimeout|setInterval|setImmediate|queueMicrotask)$/;

type Node = { type: string; start: number } & Record<string, unknown>;

/** @returns `path:line` of each call whose callback returns an ignored promise */
function droppedPromises(path: string, text: string): string[] {
  const { program, errors } = parseSync(path, text);
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`);
  const asyncNames = new Set<unknown>();
  const calls: Node[] = [];
  const note = (id: unknown, value: unknown) => (value as Node | null)?.async && asyncNames.add(nameOf(id));
  new Visitor({
    FunctionDeclaration: (node) => note(node.id, node),
    VariableDeclarator: (node) => note(node.id, node.init),
    MethodDefinition: (node) => note(node.key, node.value),
    PropertyDefinition: (node) => note(node.key, node.value),
    CallExpression: (node) => void calls.push(node as unknown as Node),
  }).visit(program);
  const dropsPromise = (callback: Node): boolean => {
    if (callback.async || asyncNames.has(nameOf(callback))) return true;
    const body = callback.body as Node | undefined;
    return callback.expression === true && body?.type === 'CallExpression' && asyncNames.has(nameOf(body.callee));
  };
  const isCaller = (callee: unknown) =>
    ((callee as Node).type === 'MemberExpression' ? METHODS : FUNCTIONS).test(nameOf(callee) ?? '');
  return calls
    .filter((call) => isCaller(call.callee) && (call.arguments as Node[]).some(dropsPromise))
    .map(({ start }) => `${path}:${text.slice(0, start).split('\n').length}`);
}

/** @returns the last name of an expression such as `a`, `a.b` or `this.#b` */
function nameOf(node: unknown): string | undefined {
  const { type, name, property } = node as { type: string; name?: string; property?: unknown };
  if (type === 'MemberExpression') return nameOf(property);
  return type === 'PrivateIdentifier' ? `#${name}` : name;
}

it('no callback of an emitter or a timer returns a promise', () => {
  const read = (path: string) => droppedPromises(path, readFileSync(join(ROOT, path), 'utf8'));
  assert.deepEqual(sourceFiles('{ts,js}').flatMap(read), []);
});

it('the promise check finds dropped promises in every form of callback', () => {
  const text = `
    emitter.on('a', async () => {});
    async function named() {}
    emitter.once('a', named);
    setInterval(() => named(), 1);
    class Timer { async #tick() {} start() { setTimeout(() => this.#tick(), 1); } }
    emitter.on('a', () => named().catch(report));
    emitter.on('a', () => { named().catch(report); });
    emitter.other('a', named);`;
  assert.deepEqual(droppedPromises('test.ts', text), ['test.ts:2', 'test.ts:4', 'test.ts:5', 'test.ts:6']);
});
