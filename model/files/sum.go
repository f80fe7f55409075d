package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// SHA256 returns the sum of a file in hexadecimal digits.
func SHA256(ctx context.Context, name string) (string, error) {
	f, err := Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
