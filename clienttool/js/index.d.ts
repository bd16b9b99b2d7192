/** The version of this module. */
export const version: string;

/** A JSON Schema. */
export type JSONSchema = Record<string, unknown> | boolean;

/** What a tool is, without its name and its handler. Fields that are not named here are passed on to the host. */
export interface ToolDefinition {
  /** What the model reads. */
  description: string;
  /** The schema of the input, an object; the host checks it before it asks. Absent: an object with any keys. */
  parameters?: JSONSchema;
  title?: string;
  /** The schema of `structured` in results. */
  outputSchema?: JSONSchema;
  /** Claims, which the host does not trust for a permission. */
  hints?: { readOnly?: boolean; destructive?: boolean; idempotent?: boolean; openWorld?: boolean };
  /** May run beside other calls of a turn. */
  parallel?: boolean;
  /** May be run again by a page that was loaded again, or a program that was restarted. */
  idempotent?: boolean;
  /** A wish, which the host caps. Absent: the host's default. */
  timeoutMs?: number;
  /** Calls at once, such as 1 for a tool that owns the screen. */
  maxInFlight?: number;
  /** Versions of one name stand beside each other; the newest is offered. */
  version?: string;
  [key: string]: unknown;
}

/** A file in a result. Hosts take data URLs only; {@link attachment} makes one. */
export interface Attachment {
  type?: "file";
  mime: string;
  filename?: string;
  url: string;
}

/** What a handler may return beside a plain string. */
export interface ToolResult {
  title?: string;
  /** What the model reads. */
  output?: string;
  metadata?: Record<string, unknown>;
  attachments?: Attachment[];
  structured?: unknown;
  /** The agent's turn is over after this. */
  endTurn?: boolean;
}

/** How far a call is. A string stands for a delta. */
export interface Progress {
  title?: string;
  /** Replaces the output so far. */
  output?: string;
  /** Is appended to it. */
  delta?: string;
  metadata?: Record<string, unknown>;
}

/** A question of permission. */
export interface Ask {
  permission: string;
  title?: string;
  patterns?: string[];
  /** What an answer "always" would allow. */
  always?: string[];
  protected?: boolean;
  opaque?: boolean;
  metadata?: Record<string, unknown>;
}

/** What a tool of the host returned. */
export interface InvokeResult extends ToolResult {
  isError: boolean;
  error?: string;
}

/** A tool of the host. */
export interface HostTool extends ToolDefinition {
  id: string;
}

/** What a handler knows of its call. */
export interface ToolContext {
  readonly requestID: string;
  readonly sessionID: string;
  readonly messageID: string;
  readonly callID: string;
  /** The host's id of the tool. */
  readonly tool: string;
  /** This client's own name of it. */
  readonly name: string;
  /** 2 and up: it may have run in an earlier page or process. */
  readonly attempt: number;
  /** W3C traceparent, if the host gave one. */
  readonly trace?: string;
  /** Aborted when the call is cancelled, runs out of time, or the client is shut down; the reason is an error of this module. */
  readonly signal: AbortSignal;
  /** Never throws or waits. What comes faster than ten times a second is merged; after the end it is dropped. */
  progress(p: string | Progress): void;
  /** Resolves when the host's user allows it, and rejects with a {@link DeniedError}. The wait counts for no time limit. */
  ask(ask: Ask): Promise<void>;
  /** Runs a tool of the host, with the permissions of the agent whose call this is. Rejects with an {@link InvokeError} if nothing ran. */
  invoke(tool: string, input?: unknown): Promise<InvokeResult>;
  /** The tools that invoke takes. */
  hostTools(): Promise<HostTool[]>;
}

/**
 * Runs a call. A string is the output; an object with a string `output`, or with no other keys than those of a
 * {@link ToolResult}, is the result; nothing is an empty output; any other value is sent as JSON. What it throws is an
 * error that the model reads: {@link ToolError} says more than a message.
 */
export type ToolHandler = (input: any, context: ToolContext) => unknown;

export type State = "idle" | "connecting" | "ready" | "backoff" | "closed";
export type Transport = "websocket" | "sse" | "plain";

/** What happens to calls, for a view of them. Every call that runs has one start, one end and one settled. */
export type CallEvent =
  | { type: "start"; requestID: string; name: string; sessionID: string; input: unknown }
  | { type: "progress"; requestID: string; name: string; progress: Progress }
  | { type: "end"; requestID: string; name: string; result: ToolResult & { status: "success" | "error"; error?: string; code?: string } }
  /** The verdict of the host on the result; absent if the host did not want one. */
  | { type: "settled"; requestID: string; name: string; verdict?: string };

/** What a client keeps over a restart. It has a secret in it. */
export interface SavedState {
  clientID: string;
  resume?: string;
  results: { requestID: string; endedAt: number; result: unknown }[];
}

export interface Store {
  load(): SavedState | null | undefined | Promise<SavedState | null | undefined>;
  save(state: SavedState): unknown;
}

/** Of all times, in milliseconds, and sizes, in bytes, the default is in brackets. */
export interface Options {
  /** Where the host mounts client tools, as in "https://host/client-tools"; relative ones are of the page. */
  url: string | URL;
  /** [random] Letters, digits, `.`, `_`, `:` and `-`; at most 128. */
  clientID?: string;
  /** The agent session that the tools are bound to. [none] */
  sessionID?: string;
  /**
   * [auto] "auto" tries them in turn: a WebSocket if there is one; else an event stream and POSTs, which go through
   * most proxies; else, of a host that has neither, the documented endpoints ("plain": no progress, cancel or questions).
   */
  transport?: "auto" | Transport | Transport[];
  /** Of every request. A WebSocket cannot carry them: see ticket. */
  headers?: HeadersInit | (() => HeadersInit | Promise<HeadersInit>);
  /** As in fetch. ["same-origin"] */
  credentials?: RequestCredentials;
  /**
   * One-time tickets in place of headers. True gets one for each WebSocket by POST url/ticket, with the headers above.
   * A function returns a fresh one; without headers every request gets one.
   */
  ticket?: true | (() => string | Promise<string>);
  /** In place of the global ones. Node 20 has no WebSocket. */
  WebSocket?: (new (url: string, protocols: string[]) => any) | null;
  fetch?: typeof globalThis.fetch;
  /** The most that a handler gets. [what the host says, else 30 000] */
  timeout?: number;
  /** Calls at once [16]; more wait, on the host where it knows of this. */
  maxConcurrent?: number;
  /** Between attempts to connect: at random between nothing and min·2ⁿ, at most max. [1000, 30 000] */
  backoff?: { min?: number; max?: number };
  /** Failed attempts in a row before it gives up. [no limit] */
  maxReconnectAttempts?: number;
  /** Connected that long, the back-off starts over. [5000] */
  healthyAfter?: number;
  /** To connect and be welcomed. [10 000] */
  helloTimeout?: number;
  /** For results to be delivered at disconnect. [5000] */
  drainTimeout?: number;
  /** A call that ends sooner is not acknowledged separately. [20] */
  ackDelay?: number;
  /** A result without a verdict is sent again after this. [10 000] */
  resendAfter?: number;
  /** How long results are kept for a host that is away [600 000], and how much of them [8 MiB]. */
  resultTTL?: number;
  resultBytes?: number;
  /** When the page is closed, say goodbye and fail what runs, so that the host need not wait. [true] */
  closeOnPageHide?: boolean;
  /** Keeps the client id, the right to it, and undelivered results over a reload or restart. */
  store?: Store;
  /** The error is why it is not ready. Hooks may throw; nothing comes of it. */
  onState?(state: State, error?: Error): void;
  /** The host's answer to a registration: its ids to own names, and what it did not take. */
  onTools?(tools: { ids: Map<string, string>; rejected: { id: string; code: string; error: string }[] }): void;
  onCall?(event: CallEvent): void;
  logger?: { info?(...a: unknown[]): void; warn?(...a: unknown[]): void; error?(...a: unknown[]): void };
}

/** Serves tools to a host. */
export class ClientTools {
  constructor(options: Options);
  readonly clientID: string;
  readonly sessionID: string;
  readonly state: State;
  /** What the present connection is; undefined without one. */
  readonly transport: Transport | undefined;
  /** The host's ids of the tools it has taken, to own names. */
  readonly toolIDs: Map<string, string>;
  /**
   * Adds a tool, or replaces the one of that name and version. While connected, resolves when the host has taken it,
   * and rejects with a {@link RejectedError} if it does not; before, at once. Throws a TypeError for what is no tool.
   */
  register(id: string, definition: ToolDefinition, handler: ToolHandler): Promise<void>;
  /** Removes tools by name. What runs goes on. */
  unregister(...ids: (string | string[])[]): Promise<void>;
  /**
   * Connects and stays connected. Resolves when the host knows the tools, however many attempts that takes, and rejects
   * with a {@link RefusedError} if the host refuses for good, or a {@link ClosedError}. Called again, the same promise.
   */
  connect(sessionID?: string): Promise<void>;
  /** Cancels what runs, delivers results, says goodbye. It may connect again later. */
  disconnect(): Promise<void>;
  /** The tools of the host that agents of a session may use. */
  hostTools(sessionID?: string): Promise<HostTool[]>;
}

/** The client of the documented protocol, for a host that mounts it at baseUrl + "/client-tools". */
export class ClientToolsManager extends ClientTools {
  constructor(clientID: string | undefined, baseUrl: string | URL, config?: { timeout?: number; useWebSocket?: boolean } & Partial<Options>);
}

/** Makes an attachment of bytes or text. */
export function attachment(data: Blob | BufferSource | string, options?: { mime?: string; filename?: string }): Promise<Attachment>;

/** A store in localStorage or sessionStorage. */
export function webStore(storage: Pick<Storage, "getItem" | "setItem">, key?: string): Store;

/** What every error of this module is. */
export class ClientToolError extends Error {
  constructor(message: string, code?: string, cause?: unknown);
  readonly code: string;
}
/** A connection failed for a reason that may pass. */
export class ConnectError extends ClientToolError {
  constructor(message: string, options?: { code?: string; status?: number; retryAfter?: number; cause?: unknown });
  readonly status: number;
  readonly retryAfter: number;
}
/** The host said what the protocol does not know. */
export class ProtocolError extends ConnectError {}
/** The host does not want this client; trying again does not help. Code: unauthorized, superseded, attempts, … */
export class RefusedError extends ClientToolError {}
/** The client was disconnected. */
export class ClosedError extends ClientToolError {}
/** The host did not take a tool. Code: invalid_schema, invalid_name, name_taken, too_large, limit, … */
export class RejectedError extends ClientToolError {}
/** Permission was denied. */
export class DeniedError extends ClientToolError {}
/** A tool of the host was not run. */
export class InvokeError extends ClientToolError {}
/** The reason of a signal: the time is up. */
export class TimeoutError extends ClientToolError {}
/** The reason of a signal: the call was cancelled. */
export class CancelledError extends ClientToolError {}
/** A message is larger than the host takes. */
export class TooLargeError extends ClientToolError {}
/** For handlers to throw: an error with a code, and with the output so far. */
export class ToolError extends ClientToolError {
  constructor(message: string, result?: ToolResult & { code?: string; cause?: unknown });
  readonly result: ToolResult;
}
