"""XML from clients and out of attributes, read strictly."""

from __future__ import annotations

from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from conduck_service.files.errors import bad_request

DAV = "{DAV:}"

ELEMENT_LIMIT = 400
DEPTH_LIMIT = 64

# Namespaces that no element may be in.
_RESERVED = (
    "{http://www.w3.org/XML/1998/namespace}",
    "{http://www.w3.org/2000/xmlns/}",
)


def parse_xml(body: bytes | str) -> Element:
    """Return the root of an XML body without any document type.

    Raises:
        LaneError: 400, when it is malformed, declares a document type, or is
            deeper or longer than any client's request.
    """
    try:
        root: Element = fromstring(body, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise bad_request(
            "the body is not plain XML; send XML without a DTD", "bad_xml"
        ) from error
    level, count = [root], 0
    for _ in range(DEPTH_LIMIT):
        count += len(level)
        level = [child for element in level for child in element]
        if not level:
            break
    if level or count > ELEMENT_LIMIT:
        raise bad_request("the body asks for too much at once; ask for less", "bad_xml")
    if any(item.tag.startswith(_RESERVED) for item in root.iter()):
        raise bad_request("the body has elements of XML itself; omit them", "bad_xml")
    return root
