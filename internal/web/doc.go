// Package web fetches pages for a model: it decides what about a URL must be
// asked or refused, connects only to addresses that were checked, and
// bounds what comes back.
//
// The work is done in layers, each of which a caller can use alone:
//
//   - [Parse] reads the text of a URL strictly and normalises its host; its
//     [Target] knows what the text alone says ([Target.Decide]);
//   - [Guard] classifies addresses and decides about the answers of a lookup;
//   - [Fetcher] resolves once, connects to a checked address, and follows
//     redirects one checked hop at a time;
//   - [KindOf] tells what a body is, [Decode] finds its charset, [Markdown] and [Text]
//     make a page readable.
//
// Nothing here knows rules or users. A caller applies its own in
// [Request.Check], which is told of every hop before a name is looked up.
package web
