/** Tests the templates of the Helm charts without Helm: their references exist. `npm run test:tools` renders them. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { parse } from 'yaml';
import { CHARTS, DEPLOY, readDeployed } from '../../helpers/deploy.ts';

interface Schema {
  properties?: Record<string, Schema>;
}

function matches(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].sort();
}

for (const chart of CHARTS) {
  const folder = `helm/${chart}`;
  const files = globSync('{templates,files}/*', { cwd: join(DEPLOY, folder) });
  const templates = files.map((file) => readDeployed(`${folder}/${file}`)).join('\n');
  const values = parse(readDeployed(`${folder}/values.yaml`));
  const schema: Schema = JSON.parse(readDeployed(`${folder}/values.schema.json`));

  it(`every value that a template of the chart ${chart} reads has a default and a schema`, () => {
    const paths = matches(templates, /\.Values\.([\w.]+)/g);
    assert.ok(paths.length > 5);
    for (const path of paths) {
      let [value, part]: [unknown, Schema | undefined] = [values, schema];
      for (const key of path.split('.')) {
        assert.ok(Object.hasOwn(value as object, key), `values.yaml has no ${path}`);
        value = (value as Record<string, unknown>)[key];
        part = part?.properties?.[key];
        assert.ok(part, `values.schema.json has no ${path}`);
      }
    }
  });

  it(`every value of the chart ${chart} with a default is read by a template`, () => {
    for (const name of Object.keys(values)) assert.match(templates, new RegExp(`\\.Values\\.${name}\\b`), name);
  });

  it(`every included template of the chart ${chart} is defined, and every defined one is included`, () => {
    assert.deepEqual(matches(templates, /include "([\w.]+)"/g), matches(templates, /define "([\w.]+)"/g));
  });

  it(`every opened block in templates of the chart ${chart} is closed`, () => {
    const opened = templates.match(/\{\{-? *(if|with|range|define|block) /g) ?? [];
    const closed = templates.match(/\{\{-? *end *-?\}\}/g) ?? [];
    assert.equal(closed.length, opened.length);
  });
}
