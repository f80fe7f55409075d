package nccl

import (
	"strconv"
	"strings"
)

const gb = 1_000_000_000 // bytes

// number reads a whole number of an attribute, decimal or with 0x.
func (e *element) number(key string, least, most int64) (int64, error) {
	s := e.attr[key]
	v, err := strconv.ParseInt(s, 0, 64)
	if err != nil || v < least || v > most {
		return 0, e.wrong("%s of %s is %.40q, want a whole number from %d to %d", key, e.name, s, least, most)
	}
	return v, nil
}

// pciBandwidth returns the bandwidth of a PCI device's link to what is above it.
func pciBandwidth(e *element) (int64, error) {
	lane := int64(60) // in 10⁸ bits a second, as effective; 8 GT/s where the speed is unknown
	switch speed, _, _ := strings.Cut(strings.TrimSpace(e.attr["link_speed"]), " "); speed {
	case "2.5":
		lane = 15
	case "5", "5.0":
		lane = 30
	case "16", "16.0":
		lane = 120
	case "32", "32.0":
		lane = 240
	case "64", "64.0":
		lane = 480
	}
	width := int64(16)
	if s := e.attr["link_width"]; s != "" && s != "0" {
		var err error
		if width, err = e.number("link_width", 1, 64); err != nil {
			return 0, err
		}
	}
	return width * lane * gb / 80, nil
}

// linkBandwidth returns the bandwidth of one NVLink or xGMI link of a GPU, and whether its
// generation is known; for others the bandwidth is that of NCCL and RCCL.
func linkBandwidth(gpu *element, kind string) (bandwidth int64, known bool, err error) {
	if kind == "xgmi" {
		switch arch := strings.TrimPrefix(gpu.attr["gcn"], "gfx"); {
		case strings.HasPrefix(arch, "94"), strings.HasPrefix(arch, "95"):
			return 48 * gb, true, nil
		case strings.HasPrefix(arch, "90a"), arch == "910":
			return 36 * gb, true, nil
		case arch == "906", arch == "908":
			return 24 * gb, true, nil
		}
		return 24 * gb, false, nil
	}
	sm, err := gpu.number("sm", 0, 10000)
	if err != nil {
		return 0, false, err
	}
	switch {
	case sm >= 100:
		return 401 * gb / 10, sm < 110, nil
	case sm >= 90:
		return 206 * gb / 10, true, nil
	case sm == 86:
		return 12 * gb, true, nil
	case sm >= 70:
		return 20 * gb, true, nil
	case sm >= 60:
		return 18 * gb, true, nil
	}
	return 20 * gb, false, nil
}

// cpuBandwidth returns the bandwidth between two CPUs, and whether their model is known.
func cpuBandwidth(e *element) (bandwidth int64, known bool) {
	family, _ := strconv.ParseInt(e.attr["familyid"], 0, 64)
	mod, _ := strconv.ParseInt(e.attr["modelid"], 0, 64)
	switch arch, vendor := e.attr["arch"], e.attr["vendor"]; {
	case arch == "ppc64":
		return 32 * gb, true
	case arch == "arm64":
		return 6 * gb, true
	case vendor == "AuthenticAMD":
		return 16 * gb, true
	case vendor == "GenuineIntel" && family == 6 && mod >= 0xcf:
		return 40 * gb, true
	case vendor == "GenuineIntel" && family == 6 && mod >= 0x8f:
		return 22 * gb, true
	case vendor == "GenuineIntel" && family == 6 && mod >= 0x55:
		return 10 * gb, true
	case strings.Contains(vendor, "Zhaoxin"), strings.Contains(vendor, "Shanghai"):
		if family == 7 && mod == 0x5b {
			return 9 * gb, true
		}
		return 6 * gb, true
	}
	return 6 * gb, false
}
