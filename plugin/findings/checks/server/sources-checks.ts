/** Sources of figures that could not be read when the run needed them: what may not be read is absent, and has not ended. */
import { valuesOf } from '../../../../protocol/result/findings.ts';
import { absentSinceSeconds, describeAbsence } from '../../../samplers/index.ts';
import { type Check, check } from '../../check.ts';

export const sources: Check[] = [
  check('SOURCE_UNREADABLE', (_, { absentSources, samplesBeganAtUs }) =>
    [...absentSources].map(([source, absence]) => ({
      message: describeAbsence(source, absence, samplesBeganAtUs),
      subject: source,
      values: valuesOf({ 'begin of the absence': absentSinceSeconds(absence, samplesBeganAtUs) }, 's'),
      fix: absence.fix,
    })),
  ),
];
