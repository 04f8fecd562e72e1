/**
 * Script of the HTML page that shows the values of a chart next to the pointer, or step by step with the arrow keys. A
 * slider for each chart makes the values available to screen readers. The script creates the sliders, so a page without
 * scripts has none.
 */
export const READOUT_SCRIPT = `
const element = (name, className, text = '') => { const one = document.createElement(name); one.className = className; one.textContent = text; return one; };
const written = (value, unit) => value.toLocaleString('en-US', { maximumFractionDigits: 3 }) + (unit ? ' ' + unit : '');
const unitOfAll = (series) => (series.length > 1 && new Set(series.map(({ unit }) => unit)).size === 1 ? series[0].unit : '');
for (const chart of document.querySelectorAll('[data-readout]')) {
  const { left, right, at, labels, series } = JSON.parse(chart.dataset.readout);
  const common = unitOfAll(series);
  const heading = (index) => labels[index] + (common ? ' (' + common + ')' : '');
  const rows = (index) => series.filter(({ values }) => values[index] !== null);
  const steps = element('div', 'steps');
  const cross = element('div', 'cross');
  const box = element('div', 'readout');
  let now = 0;
  const spoken = () => heading(now) + ': ' + rows(now).map(({ name, unit, values }) => name + ' ' + written(values[now], common ? '' : unit)).join(', ');
  const attributes = { role: 'slider', tabindex: 0, 'aria-label': 'Values of: ' + chart.dataset.title, 'aria-valuemin': 1, 'aria-valuemax': at.length };
  for (const [name, value] of Object.entries(attributes)) steps.setAttribute(name, value);
  const tell = () => { steps.setAttribute('aria-valuenow', now + 1); steps.setAttribute('aria-valuetext', spoken()); };
  tell();
  cross.hidden = box.hidden = true;
  chart.append(steps, cross, box);
  const plot = () => {
    const width = [...chart.querySelectorAll('svg')].find((svg) => svg.clientWidth > 0).viewBox.baseVal.width;
    const scale = chart.clientWidth / width;
    return { from: left * scale, room: (width - left - right) * scale };
  };
  const show = (index) => {
    now = Math.max(0, Math.min(at.length - 1, index));
    tell();
    const { from, room } = plot();
    const x = from + at[now] * room;
    cross.style.left = x + 'px';
    const list = element('ul', '');
    for (const { name, color, unit, values } of rows(now)) {
      const row = element('li', '');
      const swatch = element('span', 'swatch solid');
      swatch.style.borderColor = color;
      row.append(swatch, name + ' ', element('b', '', written(values[now], common ? '' : unit)));
      list.append(row);
    }
    box.replaceChildren(element('strong', '', heading(now)), list);
    const isRight = x > chart.clientWidth / 2;
    box.style.left = isRight ? 'auto' : x + 10 + 'px';
    box.style.right = isRight ? chart.clientWidth - x + 10 + 'px' : 'auto';
    cross.hidden = box.hidden = false;
  };
  const hide = () => { cross.hidden = box.hidden = true; };
  const point = ({ clientX }) => {
    const { from, room } = plot();
    const share = (clientX - chart.getBoundingClientRect().left - from) / room;
    let best = 0;
    for (let index = 1; index < at.length; index++) if (Math.abs(at[index] - share) < Math.abs(at[best] - share)) best = index;
    show(best);
  };
  const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
  steps.addEventListener('pointermove', point);
  steps.addEventListener('pointerdown', point);
  steps.addEventListener('pointerleave', () => { if (document.activeElement !== steps) hide(); });
  steps.addEventListener('focus', () => { if (steps.matches(':focus-visible')) show(now); });
  steps.addEventListener('blur', hide);
  steps.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') hide();
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(now + moves[event.key]);
  });
}
`;
