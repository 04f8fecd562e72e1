/** What else a scenario has to be like for a planned fault to tell anything. */
import { isStackFault } from '../../protocol/fault.ts';
import { formatPath, type Problem } from '../../protocol/problems.ts';
import type { EngineOptions } from './options/engine-options.ts';
import type { Environment, PluginOptions } from './options/plugin-options.ts';
import { ENGINE, PLUGIN } from './script.ts';

interface Around {
  options: PluginOptions;
  variables: Environment;
  engine: string;
  /** Undefined if they have mistakes of their own. */
  reconnection: EngineOptions['reconnection'];
  /** All virtual users stay until the run releases them. */
  stays: boolean;
  ownServer: boolean;
}

export function faultProblems({ options, variables, ...around }: Around): Problem[] {
  const { fault, broadcasts, delivery, overTime, profile } = options;
  if (!fault) return [];
  const at = (...path: string[]) => formatPath(['config', 'plugins', PLUGIN, 'fault', ...path]);
  const problems: Problem[] = [];
  const say = (message: string, ...path: string[]) => problems.push({ path: at(...path), message });
  if (around.engine !== ENGINE) say(`only engine ${ENGINE} tells which connections came back`);
  else if (!around.reconnection) {
    say(`connections that drop would stay away: write config.engines.${ENGINE}.reconnection: true`);
  }
  if (overTime) say('not with `overTime`, whose virtual users come and go by themselves');
  if (delivery) say('not with `delivery`: its publishers would drop, too');
  if (!overTime && !around.stays) say('its virtual users must stay: end the flow with `hold: true`');
  if (fault.kind === 'command' && !fault.command) say('needs a `kind`, or a `command`');
  if (fault.kind !== 'command' && fault.command) say('only for the kind `command`', 'command');
  if (isStackFault(fault.kind)) {
    if (around.ownServer) {
      say('only for the stack that a run starts; for a server of your own, write the `command` that does it', 'kind');
    }
    const embedded = (variables.PROFILE ?? profile) === 'embedded';
    if (embedded && fault.kind === 'reload-nginx') say('the profile `embedded` has no nginx', 'kind');
    if (fault.kind === 'restart-redis' && (embedded || variables.REDIS_URL)) {
      say(embedded ? 'the profile `embedded` has no Redis' : 'the Redis of REDIS_URL is not the stack’s', 'kind');
    }
  }
  const count = variables.BROADCASTS ?? broadcasts.count;
  const lastAt = (count - 1) * broadcasts.interval;
  if (count > 0 && !overTime && fault.at >= lastAt) {
    say(`the last broadcast is at ${lastAt} s, and those after the fault tell who missed what`, 'at');
  }
  return problems;
}
