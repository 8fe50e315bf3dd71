-- GTIDs with and without a tag, and a JSON value that is updated in part.
CREATE TABLE tagged (id INT PRIMARY KEY, j JSON) ENGINE=InnoDB;
SET GTID_NEXT = 'AUTOMATIC:blue';
INSERT INTO tagged VALUES (1, '{"a": "aaaaaaaaaaaaaaaaaaaa", "b": 1}');
INSERT INTO tagged VALUES (2, '{}');
SET GTID_NEXT = '3e11fa47-71ca-11e1-9e33-c80aa9429562:a_tag_that_has_all_of_32_letters:9223372036854775805';
INSERT INTO tagged VALUES (3, '{}');
SET GTID_NEXT = '00000000-0000-0000-0000-0000000000ff:127';
INSERT INTO tagged VALUES (4, '{}');
SET GTID_NEXT = 'ffffffff-ffff-ffff-ffff-ffffffffffff:x:70000';
INSERT INTO tagged VALUES (5, '{}');
SET GTID_NEXT = 'AUTOMATIC';
SET SESSION binlog_row_value_options = PARTIAL_JSON;
UPDATE tagged SET j = JSON_SET(j, '$.a', 'b') WHERE id = 1;
SET SESSION binlog_row_value_options = '';
