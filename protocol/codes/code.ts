/** What every catalogue of codes says of each code, in Markdown that has backticks only. */
export interface Code {
  /** What is the case, with its threshold. */
  meaning: string;
  /** What a person does about it. */
  remedy: string;
}
