// Package pdftext reads the text of PDF files that strangers made.
//
// The whole file is gone through once and every object that is found is taken,
// later definitions in the place of earlier ones; cross-reference tables, which
// are often wrong and can be made to lead in circles, are not used. Everything is
// bounded: nesting, objects, pages, the bytes that compressed data grows to, and
// the text of a page. Work ends with its context. Nothing recurses deeper than a
// limit, so no file can exhaust the stack.
//
// What is understood: text with simple and composite fonts, by their ToUnicode
// maps or else their encodings; form objects; Flate, LZW, ASCII85, ASCIIHex and
// RunLength data; object streams. Encrypted files are reported as such. Text comes
// in the order in which it is drawn, in lines, with blanks where there are gaps.
package pdftext
