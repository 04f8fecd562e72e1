/** Masks the credentials of a plan before it is written: in levels, arguments and server commands. */
import { maskArguments } from '../../protocol/base/secrets/command-line.ts';
import { isSecretName, isSecretPlace, MASK, maskText } from '../../protocol/base/secrets/secret-text.ts';
import type { Level, Levels, Plan } from '../../protocol/documents/study-schema.ts';

interface MaskedPlan {
  /** The plan without credentials. Levels that are equal once masked are numbered. */
  shown: Plan;
  /** Returns the real levels for levels of the shown plan. */
  realOf(levels: Levels): Levels;
}

export function maskedPlan(plan: Plan): MaskedPlan {
  const vary = Object.fromEntries(
    Object.entries(plan.vary).map(([name, levels]) => [name, maskedLevels(name, levels)]),
  );
  const translate = (from: Plan['vary'], to: Plan['vary'], levels: Levels): Levels =>
    Object.fromEntries(
      Object.entries(levels).map(([name, level]) => [name, to[name]?.[from[name]?.indexOf(level) ?? -1] ?? level]),
    );
  return {
    shown: {
      ...plan,
      vary,
      ...(plan.args && { args: maskArguments(plan.args) }),
      except: plan.except.map((levels) => translate(plan.vary, vary, levels)),
      servers: Object.fromEntries(
        Object.entries(plan.servers).map(([name, { command, ready }]) => [
          name,
          { command: maskArguments(command), ready: typeof ready === 'string' ? maskText(ready) : ready },
        ]),
      ),
    },
    realOf: (levels) => translate(vary, plan.vary, levels),
  };
}

function maskedLevels(name: string, levels: Level[]): Level[] {
  const masked = levels.map((level) => maskedLevel(name, level));
  const isNumbered = new Set(masked.map(String)).size < masked.length;
  return masked.map((level, index) => (isNumbered && level !== levels[index] ? `${level} ${index + 1}` : level));
}

function maskedLevel(name: string, level: Level): Level {
  if (typeof level === 'boolean') return level;
  const keys = name.split('.');
  const isSecret = keys.length === 1 ? isSecretName(name) : keys.some(isSecretPlace);
  return isSecret ? MASK : typeof level === 'string' ? maskText(level) : level;
}
