INSERT INTO plain VALUES (30, 'in binary', 'sad');
