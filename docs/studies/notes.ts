/** What each page says of its study beside the figures. */

import { doubtsOf, holesOf } from '../../report/study/document.ts';
import { questionsOf } from '../../report/study/summarize.ts';
import { fullStudy, type MeasuredStudy } from './measured.ts';

export interface StudyNotes {
  /** Combinations that lack runs, and what casts doubt on the comparison. */
  holes: string[];
  doubts: string[];
  /** Address of its study.html; null without a run. */
  full: string | null;
}

export function notesOf(name: string, measured: MeasuredStudy | undefined): StudyNotes {
  if (!measured) return { holes: [], doubts: [], full: null };
  const { study, runs } = measured;
  return { holes: holesOf(study), doubts: doubtsOf(runs, questionsOf(study.plan, runs)), full: fullStudy(name) };
}
