/** A plan as documents keep it: levels that are credentials are numbered, and the commands of servers show none. */

import { maskArguments } from '../../protocol/base/secrets/command-line.ts';
import { isSecretName, isSecretPlace } from '../../protocol/base/secrets/secret-names.ts';
import { MASK, maskText } from '../../protocol/base/secrets/secret-text.ts';
import type { Level, Levels, Plan } from '../../protocol/documents/study-schema.ts';

interface MaskedPlan {
  shown: Plan;
  /** @returns what a run with these levels of the shown plan is started with */
  realOf(levels: Levels): Levels;
}

export function maskedPlan(plan: Plan): MaskedPlan {
  const vary = Object.fromEntries(Object.entries(plan.vary).map(([name, levels]) => [name, shownLevels(name, levels)]));
  const translated = (from: Plan['vary'], to: Plan['vary'], levels: Levels): Levels =>
    Object.fromEntries(
      Object.entries(levels).map(([name, level]) => [name, to[name]?.[from[name]?.indexOf(level) ?? -1] ?? level]),
    );
  return {
    shown: {
      ...plan,
      vary,
      ...(plan.args && { args: maskArguments(plan.args) }),
      except: plan.except.map((levels) => translated(plan.vary, vary, levels)),
      servers: Object.fromEntries(
        Object.entries(plan.servers).map(([name, { command, ready }]) => [
          name,
          { command: maskArguments(command), ready: typeof ready === 'string' ? maskText(ready) : ready },
        ]),
      ),
    },
    realOf: (levels) => translated(vary, plan.vary, levels),
  };
}

function shownLevels(name: string, levels: Level[]): Level[] {
  const shown = levels.map((level) => shownLevel(name, level));
  const isNumbered = new Set(shown.map(String)).size < shown.length;
  return shown.map((level, index) => (isNumbered && level !== levels[index] ? `${level} ${index + 1}` : level));
}

function shownLevel(name: string, level: Level): Level {
  if (typeof level === 'boolean') return level;
  const keys = name.split('.');
  const isSecret = keys.length === 1 ? isSecretName(name) : keys.some(isSecretPlace);
  return isSecret ? MASK : typeof level === 'string' ? maskText(level) : level;
}
