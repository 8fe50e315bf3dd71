-- What is there before the slots are made.
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE SCHEMA shop;
CREATE TABLE plain (id int PRIMARY KEY, name text, feeling mood, big text);
ALTER TABLE plain ALTER big SET STORAGE EXTERNAL;
CREATE TABLE shop.whole (id bigint PRIMARY KEY, name varchar(20), big text);
ALTER TABLE shop.whole ALTER big SET STORAGE EXTERNAL;
ALTER TABLE shop.whole REPLICA IDENTITY FULL;
CREATE TABLE by_index (gone int, a int NOT NULL, b int NOT NULL, c int, twice int GENERATED ALWAYS AS (a * 2) STORED);
ALTER TABLE by_index DROP gone;
CREATE UNIQUE INDEX by_b ON by_index (b);
ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_b;
CREATE TABLE unnamed (a int);
ALTER TABLE unnamed REPLICA IDENTITY NOTHING;
CREATE PUBLICATION p FOR ALL TABLES;
