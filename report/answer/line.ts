/** What a question contributes to the answer of a run. */
import type { AnswerLine } from '../../protocol/result/answer.ts';

export type Line = Pick<AnswerLine, 'text' | 'figure'>;
