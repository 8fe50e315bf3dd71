"""What is linked into the packages of a build, as SPDX 2.3: sbom.py BUILD SUITE ARCHITECTURE COMMIT OUTPUT DEB...

Run where it was built, after ninja: shared libraries are those that the programs and, in turn, the libraries name (NEEDED); what is compiled
in is known by the compiler's own lists of headers (`ninja -t deps`) and by the static libraries that the programs are linked with.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

PROGRAMS = {"cuckooguard": "src/", "cuckooguard-demo": "(src|demo|integration)/"}  # where the objects are of which it consists
# In Debian's words, where they are not SPDX's.
SPDX = {"Expat": "MIT", "X11": "X11", "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-2+": "LGPL-2.0-or-later", "GPL-2+": "GPL-2.0-or-later",
        "BSD-3-Clause": "BSD-3-Clause", "BSD-3-clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause", "Apache-2.0": "Apache-2.0",
        "PostgreSQL": "PostgreSQL", "Zlib": "Zlib", "zlib": "Zlib"}
# Of source packages whose copyright file says it in prose, or of more than the library.
KNOWN = {"boost": "BSL-1.0", "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1", "glibc": "LGPL-2.1-or-later", "mariadb": "LGPL-2.1-or-later",
         "fmtlib": "MIT", "dygraphs": "MIT", "libzstd": "BSD-3-Clause", "zlib": "Zlib", "sqlite": "blessing", "yaml-cpp": "MIT",
         "linux": "GPL-2.0-only WITH Linux-syscall-note",
         # Packages of cross-toolchain-base.
         "libc6-dev-arm64-cross": "LGPL-2.1-or-later", "linux-libc-dev-arm64-cross": "GPL-2.0-only WITH Linux-syscall-note"}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def owners():
    """Of each file of an installed package the package, as dpkg names it."""
    found = {}
    for listed in sorted(pathlib.Path("/var/lib/dpkg/info").glob("*.list")):
        for line in listed.read_text().splitlines():
            found[line] = listed.stem
    return found


class Debian:
    def __init__(self, architecture):
        self.owner_of = owners()
        self.triplet = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[architecture]

    def package_of(self, path):
        real = os.path.realpath(path)
        return self.owner_of.get(real) or self.owner_of.get(real.removeprefix("/usr"))

    def needed(self, binary):
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-d", binary)):
            yield next(path for folder in ("/usr/lib/", "/lib/") if os.path.exists(path := f"{folder}{self.triplet}/{name}"))

    def facts(self, package):
        form = "${Package}\t${Version}\t${source:Package}\t${Architecture}\t${Homepage}"
        return output_of("dpkg-query", "-W", "-f", form, package).split("\t")


def compiled_in(build, program, objects):
    """Files of other packages: headers, static libraries, the page's chart library."""
    is_of_it = False
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            is_of_it = re.match(objects, line)
        elif is_of_it and line.startswith("    /usr/"):
            yield line.strip()
    linked = re.search(r"^build %s: .*?\n\n" % program.replace("-", "_"), pathlib.Path(build, "build.ninja").read_text(), re.M | re.S)
    yield from set(re.findall(r"(/usr/\S+\.a)\b", linked[0]))
    yield re.search(r"^CUCKOOGUARD_CHARTS:FILEPATH=(.*)", pathlib.Path(build, "CMakeCache.txt").read_text(), re.M)[1]


def licence(package, source, copyright_file):
    """An SPDX expression, or none if Debian says it in words of its own."""
    for name, known in KNOWN.items():
        if name == package or re.fullmatch(name + r"[-\d.]*(-cross)?", source):
            return known
    said = re.search(r"^Files: \*\n(?:.+\n)*?License: (.+)", copyright_file, re.M)
    return SPDX.get(said[1].strip()) if said else None


class Document:
    def __init__(self, debian, suite):
        self.debian, self.suite = debian, suite
        self.packages, self.relationships, self.licences = {}, set(), {}

    def add(self, package):
        name, version, source, architecture, homepage = self.debian.facts(package)
        identity = f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}"
        if identity in self.packages:
            return identity
        text = pathlib.Path(f"/usr/share/doc/{name}/copyright").read_text(errors="replace")
        expression = licence(name, source, text)
        if not expression:
            expression = f"LicenseRef-{re.sub('[^A-Za-z0-9.-]', '-', source)}"
            self.licences[expression] = {"licenseId": expression, "name": f"As Debian's package {name} says", "extractedText": text}
        self.packages[identity] = {
            "SPDXID": identity, "name": name, "versionInfo": version, "supplier": "Organization: Debian",
            "downloadLocation": "NOASSERTION", "homepage": homepage or "NOASSERTION", "filesAnalyzed": False,
            "sourceInfo": f"built from {source}", "licenseConcluded": "NOASSERTION", "licenseDeclared": expression,
            "copyrightText": "NOASSERTION", "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={architecture}&distro={self.suite}"}]}
        return identity

    def link(self, holder, binary):
        """The libraries that a program or library names, and theirs."""
        for path in self.debian.needed(binary):
            library = self.add(self.debian.package_of(path))
            kind = "DYNAMIC_LINK" if holder.startswith("SPDXRef-cuckooguard") else "DEPENDS_ON"
            is_new = (holder, kind, library) not in self.relationships
            if library != holder:
                self.relationships.add((holder, kind, library))
            if is_new:
                self.link(library, path)

    def add_own(self, deb, build):
        name, version = output_of("dpkg-deb", "-f", deb, "Package").strip(), output_of("dpkg-deb", "-f", deb, "Version").strip()
        identity = f"SPDXRef-{name}"
        self.packages[identity] = {
            "SPDXID": identity, "name": name, "versionInfo": version, "packageFileName": pathlib.Path(deb).name,
            "supplier": "Organization: The Cuckoo Guard authors", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "2026 The Cuckoo Guard authors",
            "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(pathlib.Path(deb).read_bytes()).hexdigest()}]}
        self.relationships.add(("SPDXRef-DOCUMENT", "DESCRIBES", identity))
        self.link(identity, f"{build}/{name.replace('-', '_')}")
        for package in sorted({self.debian.package_of(path) for path in compiled_in(build, name, PROGRAMS[name])}):
            self.relationships.add((identity, "STATIC_LINK", self.add(package)))


def check(whole):
    """What SPDX 2.3 asks of each package and relationship, and that each has a version and a licence."""
    known = {"SPDXRef-DOCUMENT"} | {package["SPDXID"] for package in whole["packages"]}
    words = {licence["licenseId"] for licence in whole["hasExtractedLicensingInfos"]}
    for package in whole["packages"]:
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]), package
        assert package["name"] and package["versionInfo"] and package["downloadLocation"] and package["filesAnalyzed"] is False, package
        declared = package["licenseDeclared"]
        assert declared in words if declared.startswith("LicenseRef-") else re.fullmatch(r"[A-Za-z0-9.-]+( WITH [A-Za-z0-9.-]+)?", declared), package
    for relationship in whole["relationships"]:
        assert relationship["spdxElementId"] in known and relationship["relatedSpdxElement"] in known, relationship
    linked = {relationship["relatedSpdxElement"] for relationship in whole["relationships"]}
    assert linked == known - {"SPDXRef-DOCUMENT"}, "a package that nothing is related to"


def main(build, suite, architecture, commit, output, *debs):
    document = Document(Debian(architecture), suite)
    for deb in debs:
        document.add_own(deb, build)
    name = pathlib.Path(output).name.removesuffix(".spdx.json")
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    whole = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{commit}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: cuckooguard-sbom"]},
        "packages": [document.packages[each] for each in sorted(document.packages)],
        "hasExtractedLicensingInfos": [document.licences[each] for each in sorted(document.licences)],
        "relationships": [{"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to}
                          for of, kind, to in sorted(document.relationships)]}
    check(whole)
    pathlib.Path(output).write_text(json.dumps(whole, indent=1) + "\n")
    print(f"sbom: file={name} packages={len(document.packages)} licences_in_words={len(document.licences)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
