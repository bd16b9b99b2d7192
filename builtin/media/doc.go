// Package media reads images and PDF files for package builtin. A program links
// the decoders only if it imports this package:
//
//	builtin.New(builtin.Config{Root: dir, Images: &media.Images{}, PDF: &media.PDF{}})
package media
