/** Builds the package: compiles it, and copies the files that its code reads. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, globSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';

for (const folder of ['dist', 'scenarios']) rmSync(folder, { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
for (const name of ['nginx', 'ecosystem.config.js'])
  cpSync(join('../..', name), join('dist', name), { recursive: true });
cpSync('../live/page', 'dist/plugin/live/page', { recursive: true });
cpSync('../../scenarios', 'scenarios', { recursive: true });

// ECharts takes 68 MB when installed, so the parts that the reports use are bundled, and the live page gets one file.
const { resolve } = createRequire(import.meta.url);
copyFileSync(resolve('echarts/dist/echarts.common.min.js'), 'dist/plugin/live/page/echarts.common.min.js');
const drawing = globSync('dist/report/**/*.js').filter((file) => /from ['"]echarts\//.test(readFileSync(file, 'utf8')));
if (drawing.length === 0) throw new Error('nothing in dist/report imports echarts any more');
const BUNDLED = /^(echarts|zrender|tslib)(\/|$)/;
const onlyEcharts = {
  name: 'only echarts',
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ path, kind, importer }) => {
      const isInside =
        kind === 'entry-point' || BUNDLED.test(path) || /node_modules\/(echarts|zrender)\//.test(importer);
      return isInside ? undefined : { path, external: true };
    });
  },
};
for (const file of drawing) {
  const options = {
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    allowOverwrite: true,
    plugins: [onlyEcharts],
  };
  await build({ entryPoints: [file], outfile: file, ...options });
}
for (const name of ['echarts', 'zrender']) {
  const [from] = globSync(`../../node_modules/${name}/LICENSE*`);
  copyFileSync(from, `dist/LICENSE.${name}`);
}
