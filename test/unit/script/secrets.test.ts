/** Puts a text into every path of a scenario's schemas. New options are therefore tested without a change here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { engineOptionsSchema as engineSchema } from '../../../plugin/script/options/engine-options.ts';
import { pluginOptionsSchema as pluginSchema } from '../../../plugin/script/options/plugin-options.ts';
import { STEP_KINDS } from '../../../plugin/virtual-user/steps/index.ts';
import { collectScriptSecrets, maskedSettings } from '../../../protocol/base/secrets/masked-values.ts';

const CANARY = 'canary-7f3a9';

const PATHS = ['rss', 'heapUsed', 'external', 'cpuMicroseconds', 'pid'];
/** Options that are displayed: names, paths and expressions, which describe the run. */
const SHOWN = [
  // Options of the plugin.
  ...['room', 'clients', 'counts.0', 'results', 'delivery.event', 'delivery.id', 'delivery.sentAt', 'delivery.join'],
  ...['event', 'from', 'counter'].map((key) => `counts.0.${key}`),
  ...['delivery.audience.event', 'delivery.audience.client', 'delivery.publish.emit.0', 'fault.command.0'],
  ...['workers', 'layers.x'].flatMap((part) =>
    [
      ...['pids', 'cgroup', 'match', 'prometheus.labels.x', 'prometheus.0.labels.x'],
      ...['json', 'json.0'].flatMap((page) => PATHS.map((path) => `${page}.${path}`)),
    ].map((source) => `${part}.${source}`),
  ),
  // Options of the engine.
  ...['engine.path', 'engine.parser', 'engine.timeout', 'engine.connectTimeout', 'engine.localAddresses.0'],
  ...['engine.reconnection.delay', 'engine.reconnection.maxDelay', 'engine.retry.delay', 'engine.retry.maxDelay'],
];
/** Paths in steps that are displayed, by their last keys. */
const SHOWN_IN_STEPS =
  /(^|\.)(namespace|path|connect|event|waitFor|on|channel|url|uri|function|whileTrue|beforeRequest(\.0)?|as|group|flags|json|timeout|think(\.\w+)?|count|over|loopValue|loopElement|emit\.0|emit)$/;

type Def = Record<string, unknown> & { type: string };

/** Returns the paths in a schema that accept any text, as keys with dots. */
function placesIn(schema: z.ZodType, at: string[] = []): string[] {
  const def = schema.def as unknown as Def;
  const into = (inner: unknown, ...keys: string[]) =>
    inner instanceof z.ZodType ? placesIn(inner, [...at, ...keys]) : [];
  if (['string', 'unknown', 'any'].includes(def.type)) return [at.join('.')];
  if (def.type === 'object') return Object.entries(def.shape as object).flatMap(([key, inner]) => into(inner, key));
  if (def.type === 'record') return into(def.valueType, 'x');
  if (def.type === 'array') return into(def.element, '0');
  if (def.type === 'tuple')
    return [...(def.items as unknown[]), def.rest].flatMap((item, index) => into(item, `${index}`));
  if (def.type === 'union') return (def.options as unknown[]).flatMap((option) => into(option));
  return [def.innerType, def.in].flatMap((inner) => into(inner));
}

function planted(place: string, value: unknown): unknown {
  return place.split('.').reduceRight<unknown>((inside, key) => {
    if (!/^\d+$/.test(key)) return { [key]: inside };
    return [...Array<string>(Number(key)).fill('event'), inside];
  }, value);
}

const STEP_PLACES = Object.values(STEP_KINDS).flatMap(({ schema }) => [...new Set(placesIn(schema))]);

test('finds the paths of all options in all schemas', () => {
  const places = [...placesIn(engineSchema), ...placesIn(pluginSchema), ...STEP_PLACES];
  for (const place of ['auth.x', 'query.x', 'query', 'tls.key', 'acknowledge.0', 'control.token', 'control.urls.0']) {
    assert.ok(places.includes(place), place);
  }
  for (const place of ['emit.1', 'delivery.publish.emit.0', 'every.emit.1', 'connect.headers.x', 'acknowledge.data']) {
    assert.ok(places.includes(place), place);
  }
  assert.ok(places.length > 100);
});

for (const place of new Set([...placesIn(engineSchema).map((at) => `engine.${at}`), ...placesIn(pluginSchema)])) {
  test(`the settings in a result ${SHOWN.includes(place) ? 'show' : 'do not show'} ${place}`, () => {
    const settings = planted(place, CANARY) as Record<string, unknown>;
    const { engine, ...options } = settings;
    const shown = JSON.stringify(maskedSettings({ ...options, engineOptions: engine }));
    const isUrl = /(urls|inspect)\.0$|\.url$/.test(place);
    if (isUrl) assertUrlIsMasked(place);
    else assert.equal(shown.includes(CANARY), SHOWN.includes(place), shown);
  });
}

for (const place of new Set(STEP_PLACES)) {
  const isShown = SHOWN_IN_STEPS.test(place) && !/(auth|headers|extraHeaders|query|data|args)(\.|$)/.test(place);
  test(`the flow in a result ${isShown ? 'shows' : 'hides'} the value of ${place}`, () => {
    const shown = JSON.stringify(maskedSettings({ flow: [{ flow: [planted(place, CANARY)] }] }));
    assert.equal(shown.includes(CANARY), isShown, shown);
  });
}

/** Keys of Artillery's HTTP engine, and an unknown key. */
for (const key of ['json', 'form', 'formData', 'body', 'qs', 'headers', 'cookie', 'auth', 'ifTrue', 'gzip', 'other']) {
  test(`the flow in a result does not show ${key} of an HTTP request`, () => {
    for (const value of [CANARY, { pass: CANARY, x: [CANARY] }]) {
      const step = { post: { url: '/a', [key]: value } };
      const shown = JSON.stringify(maskedSettings({ flow: [{ flow: [step] }] }));
      assert.ok(!shown.includes(CANARY), shown);
    }
  });
}

function assertUrlIsMasked(place: string): void {
  const settings = planted(place, `https://u:${CANARY}@h/p?q=${CANARY}`) as Record<string, unknown>;
  assert.doesNotMatch(JSON.stringify(maskedSettings(settings)), new RegExp(CANARY));
  const { credentials, values } = collectScriptSecrets(settings);
  assert.ok(credentials.has(CANARY) && values.has(CANARY));
}
