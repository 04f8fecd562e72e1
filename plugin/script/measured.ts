/** Whether a scenario names what measures it. Artillery runs it without, and says little of it. */
import { didYouMean, formatPath, type Path, type Problem } from '../../protocol/problems.ts';
import { ENGINE, PLUGIN, type Script } from './script.ts';

/** The pack's scenarios name our engine in every environment, also where another one takes its place. */
export function measuringProblems({ config, scenarios }: Script): Problem[] {
  const problems: Problem[] = [];
  const say = (path: Path, message: string) => problems.push({ path: formatPath(path), message });
  const [plugins, engines] = [config.plugins, config.engines].map((named) => Object.keys(named ?? {}));
  const wanted = Array.isArray(scenarios) ? scenarios.map((one) => one?.engine ?? config.engine) : [];
  for (const name of plugins?.filter(isNearly(PLUGIN)) ?? []) {
    say(['config', 'plugins', name], `unknown plugin, did you mean "${PLUGIN}"?`);
  }
  const slips = engines?.filter(isNearly(ENGINE)) ?? [];
  for (const name of slips) say(['config', 'engines', name], `unknown engine, did you mean "${ENGINE}"?`);
  if (wanted.includes(ENGINE) && slips.length === 0 && !engines?.includes(ENGINE)) {
    say(['config', 'engines'], `Artillery loads no engine that is not named here: write \`${ENGINE}: {}\``);
  }
  for (const [index, engine] of wanted.entries()) {
    const place = ['scenarios', index, 'engine'];
    if (engine === undefined) say(place, `without it, Artillery sends HTTP requests: write \`engine: ${ENGINE}\``);
    else if (isNearly(ENGINE)(engine)) say(place, `unknown engine, did you mean "${ENGINE}"?`);
  }
  return problems;
}

/** @returns whether Artillery would load the plugin */
export function isMeasured({ config }: Script): boolean {
  return Object.hasOwn(config.plugins ?? {}, PLUGIN);
}

function isNearly(known: string): (name: string) => boolean {
  return (name) => name !== known && didYouMean(name, [known]) !== '';
}
