// Draws the figures that the run sends each second. Outside text is only ever set as text, never as HTML.
/* global echarts */

const MB = 1024 * 1024;
/** Colours of Okabe and Ito: distinguishable with any colour vision, on light and on dark. */
const COLORS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#d55e00', '#56b4e9'];

const byId = (id) => document.getElementById(id);
const format = (value, digits = 0) =>
  value === null || value === undefined
    ? '–'
    : value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const show = (id, text) => {
  byId(id).textContent = text;
};

/** Layer → its title. */
const titles = {};
let points = [];

const charts = ['connections', 'memory', 'loops'].map((name) =>
  echarts.init(byId(`${name}-chart`), null, { renderer: 'svg' }),
);
addEventListener('resize', () => {
  for (const chart of charts) chart.resize();
});

function drawCharts() {
  const [connections, memory, loops] = charts;
  connections.setOption(lines([['Connections', (point) => point.connections]]), { notMerge: true });
  memory.setOption(
    lines(namesIn('memoryBytes').map((layer) => [titles[layer] ?? layer, (point) => toMb(point.memoryBytes[layer])])),
    { notMerge: true },
  );
  loops.setOption(lines(namesIn('loopDelayMs').map((loop) => [loop, (point) => point.loopDelayMs[loop]])), {
    notMerge: true,
  });
}

/** Returns all names under the key, over all points. */
function namesIn(key) {
  return [...new Set(points.flatMap((point) => Object.keys(point[key])))];
}

function lines(series) {
  const style = getComputedStyle(document.body);
  const [text, line] = ['--muted', '--line'].map((name) => resolved(style.getPropertyValue(name)));
  return {
    animation: false,
    color: COLORS,
    textStyle: { color: text },
    grid: { left: 8, right: 16, top: series.length > 1 ? 40 : 12, bottom: 8, containLabel: true },
    legend: series.length > 1 ? { top: 0, type: 'scroll', textStyle: { color: text } } : undefined,
    tooltip: { trigger: 'axis', valueFormatter: (value) => format(value, value < 100 ? 1 : 0) },
    xAxis: {
      type: 'value',
      min: 0,
      max: 'dataMax',
      axisLabel: { formatter: '{value} s', color: text },
      splitLine: { show: false },
    },
    yAxis: { type: 'value', min: 0, axisLabel: { color: text }, splitLine: { lineStyle: { color: line } } },
    series: series.map(([name, value]) => ({
      type: 'line',
      name,
      showSymbol: false,
      data: points.map((point) => [point.seconds, value(point) ?? null]),
    })),
  };
}

/** Resolves `light-dark()`, for which only a computed style has the actual colour. */
function resolved(color) {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = color;
  const { color: result } = getComputedStyle(probe);
  probe.remove();
  return result;
}

function fill(id, rows) {
  byId(id).replaceChildren(
    ...rows.map((cells) => {
      const row = document.createElement('tr');
      for (const cell of cells) row.insertCell().textContent = cell;
      return row;
    }),
  );
}

/** Parts of the newest sample that have a title: the processes of layers. */
const layersOf = (samples) => Object.entries(samples).filter(([, { title }]) => title);

const toMb = (bytes) => (bytes === undefined ? undefined : bytes / MB);

function showFigures({ scenario, stage, connections, delivery, latency, samples, generator, hosts }) {
  show('scenario', scenario);
  show('stage', stage);
  document.title = `${format(samples.connections)} · ${scenario}`;
  show('connected', format(samples.connections));
  show('target', format(connections.target));
  show('rate', format(connections.achievedRatePerSec));
  show('received', format(delivery.received));
  show('expected', delivery.expected === null ? '' : `of ${format(delivery.expected)} expected`);
  showCauses('failed', 'failures', connections.failures);
  showCauses('lost', 'losses', connections.lost);
  show('sentinel', format(latency.sentinelMs, 1));
  fill(
    'layers',
    layersOf(samples).map(([, { title, rssBytes, pssBytes, cpuPercent }]) => [
      title,
      format(toMb(rssBytes), 1),
      format(toMb(pssBytes), 1),
      format(cpuPercent, 1),
    ]),
  );
  fill(
    'loops',
    Object.entries(generator.delayP99Ms).map(([name, delayP99Ms]) => [
      ...[name, format(100 * generator.utilization[name], 1), format(delayP99Ms, 1)],
    ]),
  );
  showHosts(hosts);
}

/** Shows the total and its causes; highlighted if there are any. */
function showCauses(id, list, counts) {
  const causes = Object.entries(counts).sort(([, a], [, b]) => b - a);
  const total = causes.reduce((sum, [, count]) => sum + count, 0);
  show(id, format(total));
  show(list, causes.map(([cause, count]) => `${cause} ${format(count)}`).join(', '));
  byId(id).classList.toggle('bad', total > 0);
}

/** Shows the generator hosts; hidden in a run of one host. */
function showHosts(hosts) {
  byId('hosts-section').hidden = hosts.length === 0;
  const latestMs = Math.max(...hosts.map(({ loopLateMs }) => loopLateMs));
  const isSlowest = ({ loopLateMs }) => hosts.length > 1 && latestMs > 0 && loopLateMs === latestMs;
  fill(
    'hosts',
    hosts.map((host) => [
      host.lost === null ? host.name : `${host.name} (lost)`,
      format(host.connections),
      `${isSlowest(host) ? 'slowest: ' : ''}${format(host.loopLateMs)}`,
      format(host.clockBoundMs, 2),
    ]),
  );
}

let isDue = false;
/** Draws at most once per frame: a slow machine then skips drawings instead of falling behind. */
function redraw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    drawCharts();
  });
}

const run = new EventSource('/events');
run.addEventListener('history', ({ data }) => {
  ({ points } = JSON.parse(data));
  redraw();
});
run.addEventListener('figures', ({ data }) => {
  const { figures, point } = JSON.parse(data);
  if (point) points.push(point);
  for (const [layer, { title }] of layersOf(figures.samples)) titles[layer] = title;
  showFigures(figures);
  redraw();
});
run.addEventListener('end', ({ data }) => {
  run.close();
  if (JSON.parse(data).report) location.replace('/report.html');
  else show('stage', 'The run ended without a report; its folder has result.json.');
});
run.onerror = () => show('stage', 'No answer from the run: it may have been killed.');
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawCharts);
