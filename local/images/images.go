// Package images holds the files of the container images that are not downloaded: sources of the small programs,
// scripts, and lists of downloads with their checksums.
package images

import "embed"

// Files has a directory for each image: pause and probe, with one main.go each, and spark;
// and cds, the program that adds an archive of classes to a Spark image.
//
//go:embed pause/main.go probe/main.go cds/ClassArchive.java all:spark
var Files embed.FS
