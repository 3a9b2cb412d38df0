from tests.requirements import Coverage, report


class Item:
    def __init__(self, nodeid, *codes):
        self.nodeid = nodeid
        self.codes = codes

    def iter_markers(self, name):
        assert name == "req"
        return [type("Mark", (), {"args": self.codes})]


def test_the_report_lists_each_test_once_below_each_of_its_requirements_in_order():
    coverage = Coverage()
    coverage.pytest_collection_modifyitems(
        [
            Item("tests/test_a.py::test_one[1]", "R-CLI-10", "R-CLI-2"),
            Item("tests/test_a.py::test_one[2]", "R-CLI-10", "R-CLI-2"),
            Item("tests/test_b.py::test_two", "R-CLI-2"),
            Item("tests/test_b.py::test_three"),
        ]
    )
    assert report(coverage.tests).splitlines() == [
        "R-CLI-2",
        "  tests/test_a.py::test_one",
        "  tests/test_b.py::test_two",
        "R-CLI-10",
        "  tests/test_a.py::test_one",
    ]
