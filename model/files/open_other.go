//go:build !unix

package files

// waitless is nothing: no name of the file system stands for a pipe here.
const waitless = 0
